import Basics
import Codecs
import TestSupport
import Testing

@Suite struct AACEncoderTests {
    @Test("Packets follow each other without gaps and end with the last sample")
    func positions() throws {
        let encoder = try AACEncoder()
        var packets: [AACPacket] = []
        for index in 0..<50 { try encoder.encode(sine(440, from: index * 960, count: 960)) { packets.append($0) } }
        try encoder.finish { packets.append($0) }
        #expect(encoder.priming == 1024 && packets.first?.position == -1024)
        // AAC-LC (object type 2), 48 kHz (index 3), one channel; ISO/IEC 14496-3 §1.6.2.1.
        #expect(encoder.audioSpecificConfig.prefix(2) == [0x11, 0x88])
        for (packet, next) in zip(packets, packets.dropFirst()) {
            #expect(packet.position + Int64(packet.sampleCount) == next.position)
        }
        let end = packets.last.map { $0.position + Int64($0.sampleCount) }
        #expect(end == 48_000)
    }
}
