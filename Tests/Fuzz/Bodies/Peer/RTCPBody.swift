import Basics
import Fuzzing

@testable import Peer

/// RTCP compounds: parsed, written again, and parsed once more.
enum RTCPBody {
    static let target = FuzzTarget(
        "rtcp", covers: "RTCP compounds: read, written, read again", maximumLength: 4096, words: ["REMB"],
        seeds: { seeds }, body: run)

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        work.step(bytes: input.bytes.count)
        let (packets, _) = read(input.bytes, &work)
        var written: [UInt8] = []
        for packet in packets { packet.encode(into: &written) }
        _ = read(written, &work)
        work.weigh()
    }

    private static func read(_ bytes: [UInt8], _ work: inout Work) -> (packets: [RTCPPacket], malformed: Int) {
        var reader = RTCPReader(bytes.span)
        var packets: [RTCPPacket] = []
        while let packet = reader.next() {
            work.step()
            packets.append(packet)
            if case .nack(let nack) = packet { _ = nack.missing }
            _ = packet.work
            if case .transportFeedback(let feedback) = packet { _ = ArrivalReport(feedback) }
        }
        return (packets, reader.malformedCount)
    }

    /// One of each kind, and all of them in one compound.
    private static var seeds: [[UInt8]] {
        let packets = MediaSeeds.reports(about: 2, from: 1).map { packet in
            var bytes: [UInt8] = []
            packet.encode(into: &bytes)
            return bytes
        }
        return packets + [packets.flatMap { $0 }]
    }
}
