import Basics
import Codecs
import TestSupport
import Testing

@Suite struct OpusDecoderTests {
    @Test("A lost packet is recovered from the next one's FEC, better than by concealment")
    func fec() throws {
        // A tone that jumps every 60 ms has changes that concealment cannot predict, as speech has.
        let sound = (0..<40).flatMap { sine(200 + Double(($0 / 3) * 97 % 500), count: 960) }
        let encoder = try OpusEncoder(bitRate: .kilobits(40), application: .voice, complexity: 8)
        encoder.setFEC(true)
        encoder.setExpectedLoss(30)
        let packets = try packets(encoder, sound)
        func play(_ cover: (OpusDecoder, Int, inout [Float]) throws -> Void) throws -> [Float] {
            let decoder = try OpusDecoder()
            var output: [Float] = []
            for index in packets.indices {
                if index % 4 == 3, index + 1 < packets.count {
                    try cover(decoder, index, &output)
                } else {
                    try decoder.decode(packets[index], into: &output)
                }
            }
            return output
        }
        let whole = try play { decoder, index, output in try decoder.decode(packets[index], into: &output) }
        let repaired = try play { decoder, index, output in
            try decoder.decodeFEC(packets[index + 1], samples: 960, into: &output)
        }
        let concealed = try play { decoder, _, output in decoder.conceal(samples: 960, into: &output) }
        #expect(whole.count == sound.count && repaired.count == sound.count && concealed.count == sound.count)
        let error = { (a: [Float]) in zip(a, whole).reduce(Float(0)) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) } }
        #expect(error(repaired) < error(concealed) * 0.7, "\(error(repaired)) \(error(concealed))")
    }

    @Test("Concealed audio continues, fades after 100 ms and is silent at 200 ms")
    func concealment() throws {
        let encoder = try OpusEncoder(bitRate: .kilobits(48))
        let decoder = try OpusDecoder()
        var output: [Float] = []
        let packets = try packets(encoder, sine(220, count: 96_000))
        for packet in packets[..<50] { try decoder.decode(packet, into: &output) }
        output = []
        for _ in 0..<15 { decoder.conceal(samples: 960, into: &output) }
        #expect(output.count == 14_400)
        #expect(output[..<960].map(abs).max() ?? 0 > 0.2)
        #expect(output[9600...].allSatisfy { $0 == 0 })
        output = []
        for packet in packets[50..<54] { try decoder.decode(packet, into: &output) }
        #expect(abs(output[0]) < 0.05)
        #expect(output[2000...].map(abs).max() ?? 0 > 0.3)
    }

    @Test("Damaged packets are errors, not traps")
    func damage() throws {
        let decoder = try OpusDecoder()
        var random = SeededRandom(seed: 3)
        var output: [Float] = []
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 0...90, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            try? decoder.decode(bytes, into: &output)
            try? decoder.decodeFEC(bytes, samples: 960, into: &output)
            #expect(output.count <= 5760 * 2)
            output.removeAll(keepingCapacity: true)
        }
        #expect(throws: CodecError.self) { try decoder.decode([], into: &output) }
        #expect(throws: CodecError.self) { try OpusEncoder(bitRate: .kilobits(32)).encode([0, 0, 0]) }
    }
}
