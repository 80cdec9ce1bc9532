import Basics
import Codecs

/// How sound is coded for a line: all silent listeners of one profile share an encode.
enum AudioProfile: Hashable, Sendable, CaseIterable {
    /// A good line.
    case clear
    /// Packets get lost: each carries a coarse copy of the one before.
    case lossy
    /// A line that hardly carries a voice.
    case narrow

    /// More loss than that is heard without FEC.
    private static let lossLimit = 0.02
    private static let narrowBelow = BitRate.kilobits(120)

    init(estimate: BitRate, loss: Double) {
        self = estimate < Self.narrowBelow ? .narrow : loss > Self.lossLimit ? .lossy : .clear
    }

    func makeEncoder(_ rate: BitRate) throws(CodecError) -> OpusEncoder {
        switch self {
        case .clear:
            return try OpusEncoder(bitRate: rate, application: .voice, complexity: 5)
        case .lossy:
            let encoder = try OpusEncoder(bitRate: rate, application: .voice, complexity: 5)
            encoder.setFEC(true)
            encoder.setExpectedLoss(10)
            return encoder
        case .narrow:
            let encoder = try OpusEncoder(bitRate: min(rate, .kilobits(16)), application: .voice, complexity: 5)
            encoder.setFEC(true)
            encoder.setExpectedLoss(10)
            return encoder
        }
    }
}
