import Basics

/// How much may be sent to a peer that tells nothing but REMB and reports, or reports alone (GStreamer's webrtcbin): no
/// transport-wide feedback, hence no probes.
///
/// REMB alone is a poor guide. A receiver that estimates knows no more than 1.5 times what reaches it
/// (draft-ietf-rmcat-gcc-02 §5.5) and comes up by 8 % a second from whatever it first saw, so a sender that obeys stays
/// where it began; one whose process stood still for a tenth of a second believes in a queue and tells 0.85 of what
/// reached it, which of a quiet picture is next to nothing; and one that tells a fixed wish means it. So the rate
/// climbs by time as long as nothing speaks against it, never far ahead of what has got through. What speaks against it
/// is loss, or a round trip that stays long (`RoundTripQueue`); a REMB that *falls* is a suspicion, for which a shorter
/// queue or less loss is proof enough. Whatever failed is not tried again for half a minute, then a minute, then two.
struct ReceiverFollower: Sendable {
    /// How fast the rate climbs, a second …
    static let growth = 0.4
    /// … of which one report vouches for no more than this many: some peers report each five seconds only …
    static let longestSpan = 2.5
    /// … up to so many times what has got through: from one rung of the ladder the next is in reach, the one after is
    /// not.
    static let reach = 5.0
    /// … but at least to here, in bit/s, which the middle rung needs …
    static let leastReach = 600_000.0
    /// … and so fast beyond that. A still picture tests nothing: held back, who watches slides would see a small
    /// rendition of them for ever, although the largest costs next to nothing as long as they stand still.
    static let untestedGrowth = 0.05
    /// REMB below this part of its highest in `memory` has fallen: GCC's cut is 0.85 …
    static let fallen = 0.93
    static let memory: Duration = .seconds(3)
    /// … counting only what is less than so many times what we send …
    static let informed = 2.0
    /// … if it is also not well above what we send: a receiver that sees little may say less without being pressed.
    static let pressed = 1.05
    /// REMB that moves less than this within `memory` while more is sent is a wish: it binds …
    static let still = 0.03
    /// … unless it was seen to move by itself, so many times in a row. aiortc's estimate may stand still for the rest
    /// of the call at what reached it in a bad second.
    static let movesOfEstimate = 5
    /// So much less than what is sent is what a line lets through; more is the cut of a receiver, of whatever was sent.
    static let measured = 0.75
    /// A report's loss above this is the line's limit …
    static let loss = 0.10
    /// … above this nothing grows.
    static let harmlessLoss = 0.02
    /// A queue that long: nothing grows, and a REMB that has fallen is right; and the line's limit.
    static let harmlessQueue: Duration = .milliseconds(60)
    static let longQueue: Duration = .milliseconds(200)
    /// The least that a queue leaves at once: what is sent now, where little is, says nothing of how much was too much.
    static let deepestCut = 0.5
    /// Of what got through when it was too much.
    static let backOff = 0.85
    static let firstWait: Duration = .seconds(30)
    static let longestWait: Duration = .seconds(120)
    /// After so long without trouble at a rate that failed before, the waits begin anew.
    static let forgiven: Duration = .seconds(60)
    /// One cause is answered once: what is told within this time is still about the same.
    static let patience: Duration = .seconds(1)

    /// Weighs what is sent over this time: a keyframe is no rate.
    static let averaging = 2.0
    /// A report about fewer packets tells no share.
    static let leastPackets = 20

    private var history: [(rate: Double, at: Instant)] = []
    private var roundTrips = RoundTripQueue()
    private var expected = 0
    private var lost = 0
    private var lossFraction = 0.0
    private var sent: Double?
    private var updated: Instant?
    /// What got through when it was too much, until when nothing more is tried.
    private var failed: (through: Double, until: Instant, at: Instant)?
    private var wait = firstWait
    /// A REMB that stood still although more was sent.
    private var wish: Double?
    /// The first REMB: a wish, if no other one comes within `memory`. Until then nothing climbs beyond it.
    private var first: (rate: Double, at: Instant)?
    private var hasMoved = false
    /// The newest REMB, and how often in a row it was another one than before.
    private var last: (rate: Double, at: Instant)?
    private var moves = 0
    private var isEstimate = false
    /// What leaves of streams that REMB is not about, when the newest came.
    private var beside = 0.0
    /// A REMB has fallen: to what in all, of how much, and when. Nothing has proved it yet.
    private var suspicion: (through: Double, isMeasured: Bool, at: Instant)?

    /// Takes a round trip, and which of our sender reports showed it.
    mutating func add(roundTrip: Duration, of report: UInt32, at now: Instant) {
        roundTrips.add(roundTrip, of: report, at: now)
    }

    /// Takes a receiver report; the new rate.
    ///
    /// - Parameters:
    ///   - sent: what leaves now, in bit/s.
    ///   - rate: in force.
    mutating func report(lost newLost: Int, expected newExpected: Int, sent: Double, rate: Double, at now: Instant)
        -> Double
    {
        expected += newExpected
        lost += newLost
        if expected >= Self.leastPackets {
            lossFraction = Double(max(lost, 0)) / Double(expected)
            expected = 0
            lost = 0
        }
        if let proved = prove(rate: rate, at: now) { return proved }
        guard lossFraction <= Self.loss else { return fail(at: sent * (1 - lossFraction), rate: rate, now) }
        guard roundTrips.standing <= Self.longQueue else {
            return fail(at: max(sent, rate * Self.deepestCut), rate: rate, now)
        }
        // Who tells REMB climbs by it; but of pictures that are not sent aiortc tells none.
        if let last, now - last.at < Self.memory { return rate }
        let (mean, elapsed) = average(sent, at: now)
        return climb(from: rate, mean: mean, cap: cap(at: now, rate: rate), elapsed: elapsed, at: now)
    }

    /// The new rate if what a REMB let suspect is true.
    private mutating func prove(rate: Double, at now: Instant) -> Double? {
        guard let suspicion else { return nil }
        guard now - suspicion.at < Self.memory else {
            self.suspicion = nil
            return nil
        }
        // Where no round trip is known there is nothing else to go by.
        guard
            roundTrips.standing > Self.harmlessQueue || lossFraction > Self.harmlessLoss || !roundTrips.isKnown(at: now)
        else {
            return nil
        }
        self.suspicion = nil
        let through = suspicion.isMeasured ? suspicion.through : max(suspicion.through, rate * Self.deepestCut)
        return fail(at: through, rate: rate, now)
    }

    /// What the receiver wishes to have at most; infinite where what it tells is an estimate.
    private func cap(at now: Instant, rate: Double) -> Double {
        guard let first, !isEstimate else { return .infinity }
        // aiortc's first estimate of a quiet picture is a fifth of what any line carries: cut to it, the peer would
        // lose the picture.
        if !hasMoved { return now - first.at < Self.memory ? max(first.rate + beside, rate) : first.rate + beside }
        return wish.map { $0 + beside } ?? .infinity
    }

    /// What is sent in the mean, and how many seconds the answer to it stands for.
    private mutating func average(_ current: Double, at now: Instant) -> (mean: Double, elapsed: Double) {
        let elapsed = updated.map { min((now - $0).inSeconds, Self.longestSpan) } ?? 0
        updated = now
        let mean = sent.map { $0 + (current - $0) * min(1, elapsed / Self.averaging) } ?? current
        sent = mean
        return (mean, elapsed)
    }

    private mutating func climb(from rate: Double, mean: Double, cap: Double, elapsed: Double, at now: Instant)
        -> Double
    {
        let isLate = roundTrips.answersLate
        guard lossFraction <= Self.harmlessLoss, roundTrips.standing <= Self.harmlessQueue,
            isLate || roundTrips.newest <= Self.harmlessQueue && suspicion == nil
        else { return min(rate, cap) }
        var limit = cap
        if let failed {
            if now < failed.until {
                limit = min(limit, failed.through)
            } else if now - failed.until > Self.forgiven {
                self.failed = nil
                wait = Self.firstWait
            }
        }
        let tested = min(rate * (1 + Self.growth * elapsed), max(mean * Self.reach, Self.leastReach))
        let untested = rate * (1 + Self.untestedGrowth * elapsed)
        return min(cap, max(rate, min(max(tested, untested), limit)))
    }

    /// Takes a REMB; the new rate.
    ///
    /// - Parameters:
    ///   - now: when it came.
    ///   - told: what it says, in bit/s.
    ///   - current: what leaves now of the streams that it is about, in bit/s.
    ///   - beside: what leaves now of others.
    ///   - rate: in force.
    mutating func receive(_ told: Double, sent current: Double, beside: Double = 0, rate: Double, at now: Instant)
        -> Double
    {
        let (mean, elapsed) = average(current, at: now)
        self.beside = beside
        history.append((told, now))
        // One that is older than `memory` is kept to compare with.
        while history.count > 2, now - history[1].at >= Self.memory || history.count > 64 { history.removeFirst() }
        note(told, at: now)
        // What lies far above is no estimate of ours: aiortc tells 30 Mbit/s until it has seen three seconds.
        let highest = history.reduce(0) { $1.rate <= mean * Self.informed ? max($0, $1.rate) : $0 }
        if told < highest * Self.fallen, told < max(mean, current) * Self.pressed {
            suspicion = (told + beside, told < max(mean, current) * Self.measured, now)
            history.removeAll(keepingCapacity: true)
        }
        if let proved = prove(rate: rate, at: now) { return proved }
        if !isEstimate, told < mean, let oldest = history.first, now - oldest.at >= Self.memory,
            history.allSatisfy({ abs($0.rate - told) <= Self.still * told })
        {
            wish = told
            return min(rate, told + beside)
        }
        return climb(from: rate, mean: mean + beside, cap: cap(at: now, rate: rate), elapsed: elapsed, at: now)
    }

    /// Whether what is told moves, and whether by itself.
    private mutating func note(_ told: Double, at now: Instant) {
        let first = first ?? (told, now)
        self.first = first
        if abs(told - first.rate) > Self.still * first.rate { hasMoved = true }
        if let wish, abs(told - wish) > Self.still * wish { self.wish = nil }
        moves = last.map { $0.rate != told } ?? false ? moves + 1 : 0
        if moves >= Self.movesOfEstimate { isEstimate = true }
        last = (told, now)
    }

    /// Too much was sent: `through` is what the line or the receiver bore.
    private mutating func fail(at through: Double, rate: Double, _ now: Instant) -> Double {
        if let failed, now - failed.at < Self.patience { return rate }
        var until = now + wait
        if let failed {
            // The same trouble still; or what was tried after the wait failed again, and the next wait is twice as
            // long.
            if now < failed.until {
                until = failed.until
            } else {
                wait = min(wait * 2, Self.longestWait)
                until = now + wait
            }
        }
        failed = (through, until, now)
        suspicion = nil
        history.removeAll(keepingCapacity: true)
        return min(rate, through * Self.backOff)
    }
}
