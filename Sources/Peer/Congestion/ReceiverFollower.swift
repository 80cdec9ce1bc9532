import Basics

/// The rate for a peer that sends only REMB and receiver reports, or only reports (GStreamer's webrtcbin): no
/// transport-wide feedback, hence no probes.
///
/// REMB alone is a poor guide. A receiver that estimates knows no more than 1.5 times what reaches it
/// (draft-ietf-rmcat-gcc-02 §5.5) and rises by 8 % per second from the first rate that it saw, so a sender that obeys
/// stays where it began. A receiver whose process paused for a tenth of a second assumes a queue and reports 0.85 of
/// what reached it, which for a quiet picture is next to nothing. And a receiver that reports a fixed limit means it.
/// So the rate grows with time as long as nothing contradicts it, never far ahead of what has been received. What
/// contradicts it is loss, or a round trip that stays long (`RoundTripQueue`); a *falling* REMB is a suspicion, for
/// which a shorter queue or less loss is proof enough. A rate that failed is not tried again for half a minute, then a
/// minute, then two.
struct ReceiverFollower: Sendable {
    /// Growth of the rate, per second …
    static let growth = 0.4
    /// … where one report covers no more than this many seconds: some peers report every five seconds only …
    static let longestSpan = 2.5
    /// … up to so many times the mean sent rate: the next rung of the ladder is in reach, the one after it is not …
    static let reach = 5.0
    /// … but at least up to here, in bit/s, which the middle rung needs …
    static let leastReach = 600_000.0
    /// … and this growth beyond that. A picture that does not change tests nothing: without it a viewer of slides would
    /// see a small rendition for ever, although the largest costs next to nothing as long as they do not change.
    static let untestedGrowth = 0.05
    /// A REMB below this part of the highest in `window` has fallen: GCC's cut is 0.85 …
    static let fallen = 0.93
    static let window: Duration = .seconds(3)
    /// … where only values below this multiple of the sent rate count …
    static let informed = 2.0
    /// … if it is also not well above what we send: a receiver that sees little may report less without being
    /// congested.
    static let pressed = 1.05
    /// A REMB that moves less than this within `window` while more is sent is a fixed limit: it binds …
    static let steady = 0.03
    /// … unless it was seen to move by itself, this many times in a row. aiortc's estimate may stay for the rest of the
    /// call at what reached it in a bad second.
    static let movesOfEstimate = 5
    /// A REMB below this part of the sent rate shows what the link lets through; a higher one is the receiver's cut of
    /// what was sent.
    static let measured = 0.75
    /// Loss in a report above this is the link's limit …
    static let loss = 0.10
    /// … and above this nothing grows.
    static let harmlessLoss = 0.02
    /// With a queue longer than `harmlessQueue` nothing grows and a falling REMB is believed; one longer than
    /// `longQueue` is the link's limit.
    static let harmlessQueue: Duration = .milliseconds(60)
    static let longQueue: Duration = .milliseconds(200)
    /// The lowest factor of a cut caused by a queue: where little is sent, the sent rate does not show how much was too
    /// much.
    static let deepestCut = 0.5
    /// The factor applied to the received rate when it was too much.
    static let backOff = 0.85
    static let firstWait: Duration = .seconds(30)
    static let longestWait: Duration = .seconds(120)
    /// After this long without trouble at a rate that failed before, the waits start anew.
    static let failureMemory: Duration = .seconds(60)
    /// Within this time a further failure has the same cause and is not answered again.
    static let causeInterval: Duration = .seconds(1)

    /// Averaging time of the sent rate, in seconds: a keyframe is no rate.
    static let averaging = 2.0
    /// A report about fewer packets gives no loss fraction.
    static let leastPackets = 20

    private var history: [(rate: Double, at: Instant)] = []
    private var roundTrips = RoundTripQueue()
    private var expected = 0
    private var lost = 0
    private var lossFraction = 0.0
    private var sent: Double?
    private var updated: Instant?
    /// The received rate when it was too much, and until when nothing higher is tried.
    private var failed: (through: Double, until: Instant, at: Instant)?
    private var wait = firstWait
    /// A REMB that stayed the same although more was sent.
    private var fixedLimit: Double?
    /// The first REMB: a fixed limit if no different one comes within `window`. Until then the rate does not grow
    /// beyond it.
    private var first: (rate: Double, at: Instant)?
    private var hasMoved = false
    /// The newest REMB, and how often in a row it differed from the one before.
    private var last: (rate: Double, at: Instant)?
    private var moves = 0
    private var isEstimate = false
    /// The sent rate of streams that the newest REMB does not cover, when it came.
    private var beside = 0.0
    /// A REMB has fallen: to which total, whether that is a measurement, and when. Nothing has confirmed it yet.
    private var suspicion: (through: Double, isMeasured: Bool, at: Instant)?

    /// Takes a round trip, and which of our sender reports showed it.
    mutating func add(roundTrip: Duration, of report: UInt32, at now: Instant) {
        roundTrips.add(roundTrip, of: report, at: now)
    }

    /// Takes a receiver report; returns the new rate.
    ///
    /// - Parameters:
    /// - sent: the present sending rate, in bit/s.
    /// - rate: the rate in force.
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
        // A peer that sends REMB makes the rate grow by REMB; but aiortc sends none while no video is sent.
        if let last, now - last.at < Self.window { return rate }
        let (mean, elapsed) = average(sent, at: now)
        return climb(from: rate, mean: mean, cap: cap(at: now, rate: rate), elapsed: elapsed, at: now)
    }

    /// The new rate if the suspicion that a REMB raised is confirmed.
    private mutating func prove(rate: Double, at now: Instant) -> Double? {
        guard let suspicion else { return nil }
        guard now - suspicion.at < Self.window else {
            self.suspicion = nil
            return nil
        }
        // Without a known round trip there is nothing else to go by.
        guard
            roundTrips.standing > Self.harmlessQueue || lossFraction > Self.harmlessLoss || !roundTrips.isKnown(at: now)
        else {
            return nil
        }
        self.suspicion = nil
        let through = suspicion.isMeasured ? suspicion.through : max(suspicion.through, rate * Self.deepestCut)
        return fail(at: through, rate: rate, now)
    }

    /// The most that the receiver requests; infinite if what it reports is an estimate.
    private func cap(at now: Instant, rate: Double) -> Double {
        guard let first, !isEstimate else { return .infinity }
        // aiortc's first estimate of a quiet picture is a fifth of what any link carries: cut to it, the peer would
        // lose the picture.
        if !hasMoved { return now - first.at < Self.window ? max(first.rate + beside, rate) : first.rate + beside }
        return fixedLimit.map { $0 + beside } ?? .infinity
    }

    /// Updates the mean sent rate; returns it and how many seconds this report covers.
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
            } else if now - failed.until > Self.failureMemory {
                self.failed = nil
                wait = Self.firstWait
            }
        }
        let tested = min(rate * (1 + Self.growth * elapsed), max(mean * Self.reach, Self.leastReach))
        let untested = rate * (1 + Self.untestedGrowth * elapsed)
        return min(cap, max(rate, min(max(tested, untested), limit)))
    }

    /// Takes a REMB; returns the new rate.
    ///
    /// - Parameters:
    /// - now: when it came.
    /// - remb: its value, in bit/s.
    /// - current: the present rate of the streams that it covers, in bit/s.
    /// - beside: the present rate of other streams.
    /// - rate: the rate in force.
    mutating func receive(_ remb: Double, sent current: Double, beside: Double = 0, rate: Double, at now: Instant)
        -> Double
    {
        let (mean, elapsed) = average(current, at: now)
        self.beside = beside
        history.append((remb, now))
        // One that is older than `window` is kept for comparison.
        while history.count > 2, now - history[1].at >= Self.window || history.count > 64 { history.removeFirst() }
        note(remb, at: now)
        // A value far above the sent rate is no estimate of it: aiortc reports 30 Mbit/s until it has seen three
        // seconds.
        let highest = history.reduce(0) { $1.rate <= mean * Self.informed ? max($0, $1.rate) : $0 }
        if remb < highest * Self.fallen, remb < max(mean, current) * Self.pressed {
            suspicion = (remb + beside, remb < max(mean, current) * Self.measured, now)
            history.removeAll(keepingCapacity: true)
        }
        if let proved = prove(rate: rate, at: now) { return proved }
        if !isEstimate, remb < mean, let oldest = history.first, now - oldest.at >= Self.window,
            history.allSatisfy({ abs($0.rate - remb) <= Self.steady * remb })
        {
            fixedLimit = remb
            return min(rate, remb + beside)
        }
        return climb(from: rate, mean: mean + beside, cap: cap(at: now, rate: rate), elapsed: elapsed, at: now)
    }

    /// Records whether REMB moves, and whether by itself.
    private mutating func note(_ remb: Double, at now: Instant) {
        let first = first ?? (remb, now)
        self.first = first
        if abs(remb - first.rate) > Self.steady * first.rate { hasMoved = true }
        if let fixedLimit, abs(remb - fixedLimit) > Self.steady * fixedLimit { self.fixedLimit = nil }
        moves = last.map { $0.rate != remb } ?? false ? moves + 1 : 0
        if moves >= Self.movesOfEstimate { isEstimate = true }
        last = (remb, now)
    }

    /// Too much was sent: `through` is what the link or the receiver could take.
    private mutating func fail(at through: Double, rate: Double, _ now: Instant) -> Double {
        if let failed, now - failed.at < Self.causeInterval { return rate }
        var until = now + wait
        if let failed {
            // The same trouble still lasts; or the attempt after the wait failed again, and the next wait is twice as
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
