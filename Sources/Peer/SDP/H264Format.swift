/// The format of an H.264 payload type (RFC 6184 §8.2.2): profile and packetization mode must be equal at both ends,
/// the level need not be.
struct H264Format: Hashable, Sendable {
    /// The profiles that RFC 6184 table 5 distinguishes.
    enum Profile: Hashable, Sendable {
        case constrainedBaseline, baseline, main, constrainedHigh, high
        case other(idc: UInt8, constraints: UInt8)
    }

    var profile: Profile
    /// level_idc: 31 for level 3.1.
    var level: UInt8
    /// 0: single NAL units only; 1: STAP-A and FU-A too.
    var packetizationMode: Int
    var allowsLevelAsymmetry: Bool

    /// Nil if the parameters are invalid.
    init?(_ parameters: FormatParameters) {
        packetizationMode = parameters.integer("packetization-mode") ?? 0
        allowsLevelAsymmetry = parameters["level-asymmetry-allowed"] == "1"
        // RFC 6184 §8.1: absent means Baseline, level 1.
        let text = parameters["profile-level-id"] ?? "420010"
        guard text.utf8.count == 6, text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let value = UInt32(text, radix: 16)
        else { return nil }
        level = UInt8(truncatingIfNeeded: value)
        profile = Self.profile(
            idc: UInt8(truncatingIfNeeded: value >> 16), constraints: UInt8(truncatingIfNeeded: value >> 8))
    }

    /// Table 5 of RFC 6184: several patterns name one profile.
    private static func profile(idc: UInt8, constraints: UInt8) -> Profile {
        switch idc {
        case 0x42: constraints & 0x40 != 0 ? .constrainedBaseline : .baseline
        case 0x4D: constraints & 0x80 != 0 ? .constrainedBaseline : .main
        case 0x58: constraints & 0xC0 == 0xC0 ? .constrainedBaseline : .other(idc: idc, constraints: constraints)
        case 0x64: constraints & 0x0C == 0x0C ? .constrainedHigh : .high
        default: .other(idc: idc, constraints: constraints)
        }
    }

    /// Whether we can decode it, and a decoder for it can decode what we send (constrained baseline).
    var isUsable: Bool {
        if case .other = profile { return false }
        return packetizationMode == 0 || packetizationMode == 1
    }

    /// The lower, the better: aggregation and fragmentation before single NAL units, the profile that we send before
    /// wider ones.
    var rank: Int {
        let profileRank =
            switch profile {
            case .constrainedBaseline: 0
            case .baseline: 1
            case .main: 2
            case .constrainedHigh: 3
            case .high: 4
            case .other: 5
            }
        return (packetizationMode == 1 ? 0 : 10) + profileRank
    }

    /// Whether profile and mode are equal: payload types of such formats are interchangeable.
    func matches(_ other: H264Format) -> Bool {
        profile == other.profile && packetizationMode == other.packetizationMode
    }
}
