import Basics
import Codecs
import Peer

/// What a peer's description asks of the sound that it gets (RFC 7587 §6.1), as far as it changes anything: the mix is
/// mono, which stereo decoders take, and silence is left out on thin lines only, which every decoder bears.
package struct OpusReceiverLimits: Hashable, Sendable {
    /// No more than this, on average; nil: as the room has it.
    package var maxBitRate: BitRate?
    /// A copy of the last packet in each would not be decoded otherwise.
    package var takesFEC = true
    /// Packets of 40 ms.
    package var takesLongPackets = true

    package init() {}

    /// What `maxaveragebitrate` is rounded down to: a peer may name any of half a million rates, and each would be an
    /// encode of its own. Opus itself goes no lower than 6 kbit/s (RFC 6716 §2.1.1).
    static let rates: [BitRate] = [40, 24, 16, 10, 6].map { .kilobits($0) }

    /// Peers that have the same wishes share an encode, so a limit that binds nobody is none.
    package init(_ parameters: OpusParameters, roomRate: BitRate) {
        maxBitRate = parameters.maxAverageBitRate.flatMap { wanted in
            wanted < roomRate ? Self.rates.first { $0 <= wanted } ?? Self.rates[Self.rates.count - 1] : nil
        }
        takesFEC = parameters.useInbandFEC
        takesLongPackets = (parameters.maxPacketTime ?? 120) >= 40
    }
}

/// How sound is coded for a line: all silent listeners of one profile share an encode.
package enum AudioProfile: Hashable, Sendable, CaseIterable {
    /// A good line.
    case clear
    /// Packets get lost: each carries a coarse copy of the one before.
    case lossy
    /// Many get lost: the copies are finer, and each packet leans less on the last.
    case veryLossy
    /// Packets get lost on a line that has room: each goes out a second time with the next one (RFC 2198). Coded as for
    /// a good line, and shared with those: what is repeated whole needs no coarse copy.
    case repeated
    /// A line that carries little more than a voice.
    case narrow
    /// A line that hardly carries a voice.
    case floor

    /// More loss than that is heard without FEC.
    static let lossLimit = 0.01
    static let heavyLoss = 0.06
    /// From there on the copies are less than a tenth of the line.
    static let repeatedAbove = BitRate.kilobits(400)
    static let narrowBelow = BitRate.kilobits(200)
    static let floorBelow = BitRate.kilobits(100)
    /// A profile is left for a better one only when the line is so much better than where it began.
    static let hysteresis = 1.15
    /// Bytes that each packet adds on the line: IPv4 and UDP 28, RTP 12, extensions 16, SRTP's tag 16.
    static let headers = 72
    /// Of RFC 2198 in a packet with one copy.
    static let copyHeader = 5

    /// - Parameter canRepeat: the peer takes packets that carry the one before again.
    package init(estimate: BitRate, loss: Double, canRepeat: Bool = false, previous: AudioProfile? = nil) {
        let step = Self.hysteresis
        let isLossy = loss > (previous?.isForLoss == true ? Self.lossLimit / 2 : Self.lossLimit)
        if estimate < Self.floorBelow * (previous == .floor ? step : 1) {
            self = .floor
        } else if estimate < Self.narrowBelow * (previous == .narrow || previous == .floor ? step : 1) {
            self = .narrow
        } else if isLossy, canRepeat, estimate >= Self.repeatedAbove * (previous == .repeated ? 1 : step) {
            self = .repeated
        } else if loss > (previous == .veryLossy ? Self.heavyLoss / 2 : Self.heavyLoss) {
            self = .veryLossy
        } else if isLossy {
            self = .lossy
        } else {
            self = .clear
        }
    }

    /// Chosen for what gets lost.
    private var isForLoss: Bool {
        switch self {
        case .lossy, .veryLossy, .repeated: true
        case .clear, .narrow, .floor: false
        }
    }

    /// The profile whose encode it is.
    var coding: AudioProfile { self == .repeated ? .clear : self }

    /// Each packet goes out again with the next.
    package var repeats: Bool { self == .repeated }

    /// Of the coded sound; `configured` is the room's.
    package func bitRate(_ configured: BitRate) -> BitRate {
        switch self {
        case .clear, .lossy, .veryLossy, .repeated: configured
        case .narrow: min(configured, .kilobits(16))
        case .floor: min(configured, .kilobits(12))
        }
    }

    /// How many ticks of 20 ms one packet holds: on a thin line the headers of 50 packets a second would cost more than
    /// the sound.
    package var ticksPerPacket: Int {
        switch self {
        case .clear, .lossy, .veryLossy, .repeated: 1
        case .narrow, .floor: 2
        }
    }

    package var carriesFEC: Bool { coding != .clear }
    /// Silence shrinks to a packet now and then.
    package var usesDTX: Bool { self == .floor }
    /// In per cent, as the encoder is told.
    package var expectedLoss: Int {
        switch self {
        case .clear, .repeated: 0
        case .lossy, .narrow, .floor: 10
        case .veryLossy: 20
        }
    }

    /// What a line leaves for video: the rest beside the sound, less what is lost and sent again.
    package func videoBudget(of estimate: BitRate, loss: Double, roomRate: BitRate) -> BitRate {
        max((estimate - linkRate(roomRate)) * (1 - loss), .kilobits(1))
    }

    /// What it takes of the line, headers and copies included.
    package func linkRate(_ configured: BitRate) -> BitRate {
        let rate = bitRate(configured)
        let headers = BitRate(bitsPerSecond: Self.headers * 8 * 50 / ticksPerPacket)
        return repeats ? rate * 2 + headers + BitRate(bitsPerSecond: Self.copyHeader * 8 * 50) : rate + headers
    }

    /// How it is coded for a peer with these wishes.
    func coding(_ configured: BitRate, wishes: OpusReceiverLimits) -> AudioCoding {
        AudioCoding(
            bitRate: min(bitRate(configured), wishes.maxBitRate ?? .kilobits(510)),
            carriesFEC: carriesFEC && wishes.takesFEC,
            expectedLoss: expectedLoss, usesDTX: usesDTX, ticksPerPacket: wishes.takesLongPackets ? ticksPerPacket : 1)
    }
}

/// The settings of one encoder: all listeners of the same mix with the same settings share its packets.
struct AudioCoding: Hashable, Sendable {
    var bitRate: BitRate
    var carriesFEC: Bool
    /// In per cent.
    var expectedLoss: Int
    var usesDTX: Bool
    var ticksPerPacket: Int

    /// What every peer takes, on every line: for those for whom no other is left.
    static let least = AudioCoding(
        bitRate: .kilobits(6), carriesFEC: false, expectedLoss: 0, usesDTX: false, ticksPerPacket: 1)

    /// Whether a peer with these wishes, for whom `wanted` would be right, can take it instead.
    func canReplace(_ wanted: AudioCoding, for wishes: OpusReceiverLimits) -> Bool {
        bitRate <= wanted.bitRate && (!carriesFEC || wishes.takesFEC)
            && (ticksPerPacket == 1 || wishes.takesLongPackets)
    }

    func makeEncoder() throws(CodecError) -> OpusEncoder {
        let encoder = try OpusEncoder(bitRate: bitRate, application: .voice, complexity: 5)
        encoder.setFEC(carriesFEC)
        encoder.setExpectedLoss(expectedLoss)
        encoder.setDTX(usesDTX)
        return encoder
    }
}
