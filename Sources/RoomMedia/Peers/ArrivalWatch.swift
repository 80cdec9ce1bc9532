import Basics

/// Kinds of media.
package struct MediaKinds: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package static let audio = MediaKinds(rawValue: 1)
    package static let video = MediaKinds(rawValue: 2)

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `audio`, `video`: as clients know them.
    package var names: [String] { (contains(.audio) ? ["audio"] : []) + (contains(.video) ? ["video"] : []) }
}

/// What the server hears of a peer.
package enum HeardAudio: String, Hashable, Sendable, CaseIterable {
    case sound
    /// Packets come, and each of them says that it is silent (RFC 6464).
    case silence
    /// No packet comes.
    case nothing
}

/// What the server sees of a peer.
package enum SeenVideo: String, Hashable, Sendable, CaseIterable { case pictures, nothing }

/// What comes from a peer, and what is missing of what its participant says to send: a value; times are arguments.
///
/// Time counts only while other packets come from the peer: a link on which nothing comes says nothing about devices.
struct ArrivalWatch {
    /// How long nothing may come before it is missing. An encoder with discontinuous transmission sends a packet every
    /// 400 ms (libopus), and a camera at its lowest rate a frame a second.
    static let limit = Duration.seconds(4)
    /// The level of digital silence in −dBov (RFC 6464 §3).
    private static let silentLevel: UInt8 = 127

    private struct Kind {
        /// The packets so far. Another stream begins to count anew.
        var packets = 0
        /// The time since the last packet; and since that or the participant's word that it sends, whichever is later.
        var quiet = ArrivalWatch.limit
        var owed = Duration.zero

        mutating func measure(_ packets: Int, over elapsed: Duration) {
            let hasCome = packets != self.packets
            self.packets = packets
            (quiet, owed) = hasCome ? (.zero, .zero) : (quiet + elapsed, owed + elapsed)
        }

        mutating func interrupt() { (quiet, owed) = (ArrivalWatch.limit, .zero) }
    }

    private var audio = Kind()
    private var video = Kind()
    private var all = 0
    private var hadSound = false
    private var soundless = ArrivalWatch.limit
    private var reported: MediaKinds?
    /// What the participant says to send.
    private(set) var claimed: MediaKinds

    init(claimed: MediaKinds = []) { self.claimed = claimed }

    var heard: HeardAudio {
        if audio.quiet >= Self.limit { return .nothing }
        return soundless >= Self.limit ? .silence : .sound
    }
    var seen: SeenVideo { video.quiet >= Self.limit ? .nothing : .pictures }

    /// What the participant says to send, and has not come for `limit`.
    var missing: MediaKinds {
        var kinds = claimed
        if audio.owed < Self.limit { kinds.remove(.audio) }
        if video.owed < Self.limit { kinds.remove(.video) }
        return kinds
    }

    /// The participant says that it sends these from now on. What it has not claimed before gets its time to come.
    mutating func claim(_ kinds: MediaKinds) {
        if !claimed.contains(.audio) { audio.owed = .zero }
        if !claimed.contains(.video) { video.owed = .zero }
        claimed = kinds
    }

    /// A packet of audio has come.
    ///
    /// - Parameter level: what it says of its level, in −dBov; nil: it says nothing.
    mutating func heard(level: UInt8?) {
        if level != Self.silentLevel { hadSound = true }
    }

    /// Takes the counts of packets at the end of a period.
    ///
    /// - Parameter all: with those of other media and of reports.
    mutating func measure(audio packets: Int, video otherPackets: Int, all: Int, over elapsed: Duration) {
        let elapsed = all == self.all ? .zero : elapsed
        self.all = all
        audio.measure(packets, over: elapsed)
        video.measure(otherPackets, over: elapsed)
        soundless = hadSound ? .zero : soundless + elapsed
        hadSound = false
    }

    /// What is missing; nil when that was reported last.
    mutating func report() -> MediaKinds? {
        let missing = missing
        guard missing != reported else { return nil }
        reported = missing
        return missing
    }

    /// The connection is interrupted: nothing is missing until it has been there again for as long.
    mutating func interrupt() {
        audio.interrupt()
        video.interrupt()
        (hadSound, soundless) = (false, Self.limit)
    }
}
