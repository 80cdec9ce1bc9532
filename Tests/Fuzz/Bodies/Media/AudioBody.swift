import Basics
import Fuzzing

@testable import Codecs

/// Opus packets from outside, decoded, concealed and stretched.
enum AudioBody {
    static let target = FuzzTarget(
        "opus", covers: "Opus packets: decoding, recovery, concealment, stretching",
        limits: WorkLimits(perStep: .milliseconds(5)),
        maximumLength: 4096, seeds: { seeds }, body: run)

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        var input = input
        guard let decoder = try? OpusDecoder() else { return }
        work.start()
        var output: [Float] = []
        for _ in 0..<32 where !input.isEmpty {
            let operation = input.byte()
            let packet = input.chunk()
            work.step(bytes: packet.count)
            output.removeAll(keepingCapacity: true)
            _ = OpusDecoder.sampleCount(of: packet)
            switch operation & 3 {
            case 0, 1: try? decoder.decode(packet, into: &output)
            case 2: try? decoder.decodeFEC(packet, samples: Int(operation) * 100, into: &output)
            default: decoder.conceal(samples: Int(operation) * 100 - 3000, into: &output)
            }
            if output.count > 5760 { fatalError("opus: \(output.count) samples of one packet") }
        }
        work.weigh()
    }

    private static var seeds: [[UInt8]] {
        guard let encoder = try? OpusEncoder(bitRate: .kilobits(32)) else { return [] }
        var script = FuzzScript()
        for index in 0..<8 {
            let tone = (0..<960).map { Float($0 % (20 + index)) / 40 - 0.25 }
            guard let packet = try? encoder.encode(tone) else { continue }
            script.byte(index % 4)
            script.chunk(packet)
        }
        return [script.bytes]
    }
}
