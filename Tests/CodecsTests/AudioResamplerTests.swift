import Basics
import Codecs
import Glibc
import TestSupport
import Testing

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
