import Basics
import Codecs

/// Whether a participant's packets need no decoding, since nobody would hear them: they say themselves how loud they
/// are (RFC 6464). Most of the people of a meeting are silent most of the time, and to decode their silence is most of
/// what its sound costs.
///
/// A value without a clock. What it decides from are packets that have come and are not played yet, so a decoder that
/// has rested runs again a jitter buffer's delay before the first loud packet.
struct AudioRest: Sendable {
    /// Quieter than this, in −dBov: 5 dB below what the mixer lets in.
    static let quiet: UInt8 = 70
    /// So long after the last loud packet: longer than the mixer keeps somebody who fell silent.
    static let hangover = Duration.seconds(1)
    /// A sender whose latest level is older says nothing about it: copies of lost packets come without.
    private static let levelAge = Duration.seconds(1)
    /// While it rests, so often a few packets are decoded all the same: a sender whose levels are wrong must be heard.
    static let auditPeriod = Duration.seconds(2)
    static let auditLength = Duration.milliseconds(100)
    /// What is decoded in such a check is louder than this, in dBov, where the packets say quiet: then they are not
    /// believed any more.
    private static let contradiction = -55.0

    private var lastLoud = Instant.distantPast
    private var lastLevel: (value: UInt8, at: Instant)?
    private var restingSince: Instant?
    private var isTrusted = true
    /// −dBov of the loudest packet lately, for the choice among many: falls by 25 dB a second.
    private var loudest = 127.0
    private var loudestAt = Instant.distantPast

    /// A packet came. `level`: in −dBov, nil where it says none.
    mutating func received(level: UInt8?, at now: Instant) {
        guard let level else {
            if lastLevel.map({ now - $0.at > Self.levelAge }) ?? true { lastLoud = now }
            return
        }
        lastLevel = (level, now)
        if level < Self.quiet { lastLoud = now }
        if Double(level) <= loudness(at: now) { (loudest, loudestAt) = (Double(level), now) }
    }

    private func loudness(at now: Instant) -> Double { min(127, loudest + max(0, (now - loudestAt).inSeconds) * 25) }

    /// How loud it was lately, in dBov; nil where nothing is known, so that it must be decoded.
    func rating(at now: Instant) -> Double? {
        guard isTrusted, let lastLevel, now - lastLevel.at <= Self.levelAge else { return nil }
        return -loudness(at: now)
    }

    /// Says whether what is played now needs no decoding.
    mutating func rests(at now: Instant) -> Bool {
        guard isTrusted, lastLevel != nil, now - lastLoud > Self.hangover else {
            restingSince = nil
            return false
        }
        let since = restingSince ?? now
        restingSince = since
        return !Self.isAudit(now - since)
    }

    /// Whether it rests or is only looked at: nothing of it is to be heard.
    var isResting: Bool { restingSince != nil }

    /// What a packet was when it was decoded while resting.
    mutating func audited(_ samples: [Float]) {
        if LevelMeter.level(samples) > Self.contradiction { isTrusted = false }
    }

    /// The last part of each period.
    private static func isAudit(_ rested: Duration) -> Bool {
        rested.nanoseconds % auditPeriod.nanoseconds >= auditPeriod.nanoseconds - auditLength.nanoseconds
    }
}
