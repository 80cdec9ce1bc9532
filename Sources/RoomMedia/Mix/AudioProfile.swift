package import Basics
import Codecs
package import Peer

/// The limits that a peer's session description sets for the Opus that it receives (RFC 7587 §6.1), as far as they
/// matter here: the mix is mono, which stereo decoders accept too, and DTX, which every decoder accepts, is used on
/// thin links only.
package struct OpusReceiverLimits: Hashable, Sendable {
    /// The highest average bit rate; nil: the room's.
    package var maxBitRate: BitRate?
    /// Whether the decoder uses in-band FEC, the copy of the last packet in each.
    package var takesFEC = true
    /// Whether the peer takes packets of 40 ms.
    package var takesLongPackets = true
    /// Whether it takes packets of 60 ms.
    package var takesLongestPackets = true

    package init() {}

    /// The most ticks of 20 ms that one packet may have, up to `most`.
    func ticks(atMost most: Int) -> Int { min(most, takesLongestPackets ? 3 : takesLongPackets ? 2 : 1) }

    /// The rates to which `maxaveragebitrate` is rounded down: a peer may name any of half a million rates, and each
    /// would need an encode of its own. Opus itself goes no lower than 6 kbit/s (RFC 6716 §2.1.1).
    static let rates: [BitRate] = [40, 24, 16, 10, 6].map { .kilobits($0) }

    /// Peers with equal limits share an encode, so a limit at or above the room's rate counts as none.
    package init(_ parameters: OpusParameters, roomRate: BitRate) {
        maxBitRate = parameters.maxAverageBitRate.flatMap { wanted in
            wanted < roomRate ? Self.rates.first { $0 <= wanted } ?? Self.rates[Self.rates.count - 1] : nil
        }
        takesFEC = parameters.useInbandFEC
        let longest = parameters.maxPacketTime ?? 120
        (takesLongPackets, takesLongestPackets) = (longest >= 40, longest >= 60)
    }
}

/// How audio is coded for a link. All silent listeners of one profile share an encode.
package enum AudioProfile: Hashable, Sendable, CaseIterable {
    /// A good link.
    case clear
    /// Packets get lost: each carries a coarse copy of the one before.
    case lossy
    /// Many get lost: the copies are finer, and each packet leans less on the last.
    case veryLossy
    /// Packets get lost on a link with spare capacity: each goes out a second time with the next one (RFC 2198). The
    /// encode is that of `clear` and shared with it: a packet that is repeated whole needs no coarse copy.
    case repeated
    /// Every fifth packet or more gets lost on a link with spare capacity: each goes out three times.
    case shielded
    /// A link that carries little more than speech.
    case narrow
    /// A link that hardly carries speech.
    case floor
    /// A link that carries nothing but speech: in the longest packets, of which the headers cost least.
    case least
    /// Every eighth packet or more gets lost on a link that carries little else: speech alone, four times.
    case fortress

    /// Loss above this is audible without FEC.
    static let lossLimit = 0.01
    static let heavyLoss = 0.06
    /// From this estimate on the copies take less than a tenth of the link.
    static let repeatedAbove = BitRate.kilobits(400)
    static let narrowBelow = BitRate.kilobits(200)
    static let floorBelow = BitRate.kilobits(100)
    static let leastBelow = BitRate.kilobits(32)
    static let leastBelowWithLoss = BitRate.kilobits(40)
    /// From this loss on speech on a thin link is not understood unless each packet goes out four times, and on one with
    /// spare capacity from `shieldedLoss` on.
    static let fortressLoss = 0.12
    static let shieldedLoss = 0.16
    /// A profile gives way to a better one only when the estimate exceeds the threshold by this factor.
    static let hysteresis = 1.15
    /// Overhead of a packet on the link, in bytes: IPv4 and UDP 28, RTP 12, extensions 16, SRTP's tag 16.
    static let headers = 72
    /// Bytes of the RFC 2198 headers in a packet with copies: of each copy, and of the newest payload.
    static let copyHeader = 4
    static let newestHeader = 1

    /// - Parameters:
    ///   - loss: what gets lost now.
    ///   - ownLoss: what the link loses at any rate; nil: all of it. What does not fit on the link gets lost too, and then
    ///     less is to be sent, not more.
    ///   - takesCopies: the peer takes packets that carry copies of earlier ones (RFC 2198).
    package init(
        estimate: BitRate, loss: Double, ownLoss: Double? = nil, takesCopies: Bool = false,
        previous: AudioProfile? = nil
    ) {
        let step = Self.hysteresis
        let isLossy = loss > (previous?.isForLoss == true ? Self.lossLimit / 2 : Self.lossLimit)
        let ownLoss = ownLoss ?? loss
        if ownLoss > Self.fortressLoss * (previous == .fortress ? 0.6 : 1),
            estimate < Self.repeatedAbove * (previous == .fortress ? step : 1)
        {
            self = .fortress
        } else if ownLoss > Self.shieldedLoss * (previous == .shielded ? 0.6 : 1), estimate >= Self.repeatedAbove {
            self = .shielded
        } else if estimate < (isLossy ? Self.leastBelowWithLoss : Self.leastBelow) * (previous == .least ? step : 1) {
            self = .least
        } else if estimate < Self.floorBelow * ([.floor, .least].contains(previous) ? step : 1) {
            self = .floor
        } else if estimate < Self.narrowBelow * (previous?.isForThinLinks == true ? step : 1) {
            self = .narrow
        } else if isLossy, takesCopies, estimate >= Self.repeatedAbove * (previous == .repeated ? 1 : step) {
            self = .repeated
        } else if loss > (previous == .veryLossy ? Self.heavyLoss / 2 : Self.heavyLoss) {
            self = .veryLossy
        } else if isLossy {
            self = .lossy
        } else {
            self = .clear
        }
    }

    /// Whether the profile answers packet loss.
    private var isForLoss: Bool {
        switch self {
        case .lossy, .veryLossy, .repeated, .shielded, .fortress: true
        case .clear, .narrow, .floor, .least: false
        }
    }

    private var isForThinLinks: Bool {
        switch self {
        case .narrow, .floor, .least: true
        case .clear, .lossy, .veryLossy, .repeated, .shielded, .fortress: false
        }
    }

    /// The profile whose encode is used.
    var coding: AudioProfile {
        switch self {
        case .repeated, .shielded: .clear
        case .clear, .lossy, .veryLossy, .narrow, .floor, .least, .fortress: self
        }
    }

    /// How each packet goes out again. Copies at a distance outlast a burst.
    ///
    /// - Parameter takesCopies: see `init`.
    package func repetition(takesCopies: Bool) -> AudioRepetition {
        switch self {
        case .clear, .lossy, .veryLossy, .narrow, .floor, .least: .none
        case .repeated: takesCopies ? .copies([1]) : .none
        case .shielded: takesCopies ? .copies([1, 2, 4]) : .doubled
        case .fortress: takesCopies ? .copies([1, 2, 3]) : .doubled
        }
    }

    /// The bit rate of the encode, without headers; `configured` is the room's.
    package func bitRate(_ configured: BitRate) -> BitRate {
        switch self {
        case .clear, .lossy, .veryLossy, .repeated, .shielded: configured
        case .narrow: min(configured, .kilobits(16))
        case .floor: min(configured, .kilobits(12))
        case .least: min(configured, .kilobits(10))
        case .fortress: min(configured, .kilobits(8))
        }
    }

    /// The ticks of 20 ms in a packet: on a thin link the headers of 50 packets a second would cost more than the
    /// audio.
    package var ticksPerPacket: Int {
        switch self {
        case .clear, .lossy, .veryLossy, .repeated, .shielded: 1
        case .narrow, .floor: 2
        case .least, .fortress: 3
        }
    }

    /// Whole copies of packets leave nothing to the coarse ones.
    package var carriesFEC: Bool { coding != .clear && self != .fortress }
    /// Whether silence shrinks to a packet now and then.
    package var usesDTX: Bool { self == .floor || self == .least }
    /// The loss that the encoder prepares for, in per cent.
    package var expectedLoss: Int {
        switch self {
        // Of 30 % hardly 1 % is left where each packet goes out four times. And for no loss Opus has wide band at 8 kbit/s.
        case .clear, .repeated, .shielded, .fortress: 0
        case .lossy, .narrow, .floor, .least: 10
        case .veryLossy: 20
        }
    }

    /// The bit rate that a link leaves for video: the estimate less the audio, and less the share that is lost and sent
    /// again.
    package func videoBudget(of estimate: BitRate, loss: Double, roomRate: BitRate, takesCopies: Bool = true)
        -> BitRate
    {
        max((estimate - linkRate(roomRate, takesCopies: takesCopies)) * (1 - loss), .kilobits(1))
    }

    /// The bit rate on the link, headers and copies included.
    package func linkRate(_ configured: BitRate, takesCopies: Bool = true) -> BitRate {
        func inEachPacket(_ bytes: Int) -> BitRate { BitRate(bitsPerSecond: bytes * 8 * 50 / ticksPerPacket) }
        let once = bitRate(configured) + inEachPacket(Self.headers)
        switch repetition(takesCopies: takesCopies) {
        case .none: return once
        case .doubled: return once * 2
        case .copies(let distances):
            let copies = bitRate(configured) * Double(distances.count)
            return once + copies + inEachPacket(Self.newestHeader + Self.copyHeader * distances.count)
        }
    }

    /// What the audio takes on the link beyond what it would without the loss.
    package func extraRate(_ configured: BitRate, takesCopies: Bool) -> BitRate {
        let usual: AudioProfile
        switch self {
        case .fortress: usual = .floor
        case .shielded: usual = .clear
        case .clear, .lossy, .veryLossy, .repeated, .narrow, .floor, .least: return .zero
        }
        return linkRate(configured, takesCopies: takesCopies) - usual.linkRate(configured)
    }

    /// The encoder settings for a peer with these limits.
    func coding(_ configured: BitRate, receiverLimits: OpusReceiverLimits) -> AudioCoding {
        AudioCoding(
            bitRate: min(bitRate(configured), receiverLimits.maxBitRate ?? .kilobits(510)),
            carriesFEC: carriesFEC && receiverLimits.takesFEC,
            expectedLoss: expectedLoss, usesDTX: usesDTX,
            ticksPerPacket: receiverLimits.ticks(atMost: ticksPerPacket))
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

    /// The settings that every peer and link can take: for the peers for which no other settings are left.
    static let least = AudioCoding(
        bitRate: .kilobits(6), carriesFEC: false, expectedLoss: 0, usesDTX: false, ticksPerPacket: 1)

    /// Whether a peer with these limits, for which `wanted` would be right, can take these settings instead.
    func canReplace(_ wanted: AudioCoding, for receiverLimits: OpusReceiverLimits) -> Bool {
        bitRate <= wanted.bitRate && (!carriesFEC || receiverLimits.takesFEC)
            && receiverLimits.ticks(atMost: ticksPerPacket) == ticksPerPacket
    }

    func makeEncoder() throws(CodecError) -> OpusEncoder {
        let encoder = try OpusEncoder(bitRate: bitRate, application: .voice, complexity: 5)
        encoder.setFEC(carriesFEC)
        encoder.setExpectedLoss(expectedLoss)
        encoder.setDTX(usesDTX)
        return encoder
    }
}
