import Basics
import Codecs
import Glibc
import TestSupport
import Testing

@Suite struct TimeStretcherTests {
    @Test(
        "A sine keeps its pitch and its continuity at any tempo", arguments: [0.75, 0.9, 1.0, 1.1, 1.3],
        [100.0, 220, 440, 1000])
    func continuity(tempo: Double, frequency: Double) {
        var stretcher = TimeStretcher()
        var output: [Float] = []
        let input = sine(frequency, count: 96_000)
        for start in stride(from: 0, to: input.count, by: 960) {
            stretcher.stretch(Array(input[start..<start + 960]), tempo: tempo, into: &output)
        }
        let ratio = Double(input.count) / Double(output.count)
        #expect(abs(ratio - tempo) < 0.02, "\(ratio)")
        // The largest step of a sine is amplitude × angular frequency; a joint may exceed it a little, a click by far.
        let steepest = Float(0.5 * 2 * Double.pi * frequency / 48_000)
        let worst = zip(output, output.dropFirst()).map { abs($1 - $0) }.max() ?? 0
        #expect(worst < steepest * 1.4 + 0.004, "\(worst) \(steepest)")
        // The level stays the same in every 20 ms.
        for start in stride(from: 960, to: output.count - 960, by: 480) {
            #expect(output[start..<start + 960].map(abs).max() ?? 0 > 0.42)
        }
        if tempo == 1 { #expect(output == input) }
    }

    @Test("Noise, silence and short blocks are stretched too")
    func anything() {
        var random = SeededRandom(seed: 5)
        for size in [120, 480, 960, 1920, 2880] {
            var stretcher = TimeStretcher()
            var output: [Float] = []
            var fed = 0
            for index in 0..<200 {
                let block = (0..<size).map { _ in index % 3 == 0 ? 0 : Float.random(in: -1...1, using: &random) }
                stretcher.stretch(block, tempo: index % 2 == 0 ? 1.25 : 1.2, into: &output)
                fed += size
            }
            #expect(output.allSatisfy { abs($0) <= 1 } && output.count <= fed)
            if size >= 480 { #expect(Double(output.count) < Double(fed) * 0.88, "\(size)") }
        }
    }
}

@Suite struct AudioResamplerTests {
    @Test(
        "A tone of another rate and layout is the same tone",
        arguments: [(8000, 1), (16_000, 2), (44_100, 2), (48_000, 2), (96_000, 6)])
    func tone(rate: Int, channels: Int) throws {
        let resampler = try AudioResampler(inputRate: rate, inputChannels: channels)
        var output: [Float] = []
        let input = (0..<rate).flatMap { index in
            [Float](repeating: 0.5 * Float(sin(2 * Double.pi * 440 * Double(index) / Double(rate))), count: channels)
        }
        for start in stride(from: 0, to: input.count, by: 441 * channels) {
            try resampler.resample(Array(input[start..<min(start + 441 * channels, input.count)]), into: &output)
        }
        try resampler.finish(into: &output)
        #expect(abs(output.count - 48_000) < 64)
        let found = strength(of: 440, in: output[4800..<43_200])
        #expect((0.3...0.75).contains(found), "\(found)")
        #expect(strength(of: 900, in: output[4800..<43_200]) < 0.01)
    }

    @Test("An impossible channel layout is refused")
    func refusal() {
        #expect(throws: CodecError.self) { try AudioResampler(inputRate: 48_000, inputChannels: 0) }
        #expect(throws: CodecError.self) { try AudioResampler(inputRate: 0, inputChannels: 1) }
    }
}

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

@Suite struct AnnexBTests {
    @Test("Units are found behind start codes of both lengths, without their trailing zeros")
    func units() {
        let data: [UInt8] = [0, 0, 0, 1, 0x67, 1, 2, 0, 0, 1, 0x68, 3, 0, 0, 0, 1, 0x65, 9, 0, 0, 3, 1, 0]
        let units = H264.units(inAnnexB: data)
        #expect(units == [4..<7, 10..<12, 16..<22])
        #expect(units.map { AnnexB.type(of: $0, in: data) } == [7, 8, 5])
        #expect(AnnexB.parameterSets(data) == [0, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x68, 3])
        #expect(
            AnnexB.parameterSets([0, 0, 1, 0x68, 1]) == [] && H264.units(inAnnexB: [0, 0, 1]) == []
                && H264.units(inAnnexB: []) == [])
    }
}
