import Basics
import Codecs

/// Decides whether a participant's packets need no decoding because they are inaudible: packets carry their own level
/// (RFC 6464). Most participants of a meeting are silent most of the time, and decoding their silence would be most of
/// the cost of its audio.
///
/// A value without a clock. It decides from packets that have arrived and are not played yet, so a decoder that has
/// rested runs again a jitter buffer's delay before the first loud packet.
struct AudioSuspension: Sendable {
    /// Packets below this level, in −dBov, are quiet: 5 dB below what the mixer lets in.
    static let quiet: UInt8 = 70
    /// Rest begins this long after the last loud packet: longer than the mixer keeps a participant who fell silent.
    static let hangover = Duration.seconds(1)
    /// A sender whose latest level is older than this announces no levels: copies of lost packets come without one.
    private static let levelAge = Duration.seconds(1)
    /// While a sender rests, a few packets are decoded once in each period: a sender whose levels are wrong must be
    /// heard.
    static let auditPeriod = Duration.seconds(2)
    static let auditLength = Duration.milliseconds(100)
    /// In dBov. Audio that such a check decodes above this contradicts the announced levels, which are ignored from
    /// then on.
    private static let contradiction = -55.0

    private var lastLoud = Instant.distantPast
    private var lastLevel: (value: UInt8, at: Instant)?
    private var restingSince: Instant?
    private var isTrusted = true
    /// −dBov of the loudest recent packet, for the choice among many talkers: decays by 25 dB a second.
    private var loudest = 127.0
    private var loudestAt = Instant.distantPast

    /// Takes the level of a packet that arrived, in −dBov; nil where it carries none.
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

    /// The recent level, in dBov; nil where it is unknown, so that the packets must be decoded.
    func rating(at now: Instant) -> Double? {
        guard isTrusted, let lastLevel, now - lastLevel.at <= Self.levelAge else { return nil }
        return -loudness(at: now)
    }

    /// Begins or ends the rest. Returns whether the packets that are played now need no decoding.
    mutating func updateRest(at now: Instant) -> Bool {
        guard isTrusted, lastLevel != nil, now - lastLoud > Self.hangover else {
            restingSince = nil
            return false
        }
        let since = restingSince ?? now
        restingSince = since
        return !Self.isAudit(now - since)
    }

    /// True while the sender rests, also during a check: its audio must not be mixed.
    var isResting: Bool { restingSince != nil }

    /// Compares the decoded samples of a check with the announced level.
    mutating func verify(_ samples: [Float]) {
        if LevelMeter.level(samples) > Self.contradiction { isTrusted = false }
    }

    /// True in the last part of each period.
    private static func isAudit(_ rested: Duration) -> Bool {
        rested.nanoseconds % auditPeriod.nanoseconds >= auditPeriod.nanoseconds - auditLength.nanoseconds
    }
}
