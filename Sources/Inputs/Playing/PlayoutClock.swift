import Basics

/// When a moment of an input's media is played. A value without a clock.
///
/// A source that is fetched is played at our own pace. One that sends at its own pace has a clock of its own: packets
/// wait `buffer`, so that audio and video that belong together are there together, and the clock follows the source's by
/// how long they wait. Where they come earlier and earlier, or later and later, it runs a little faster or slower, which
/// the room's jitter buffer follows as it follows a sender's clock.
struct PlayoutClock {
    enum Pace { case own, source }

    /// How long the packets of a source wait.
    static let buffer = Duration.milliseconds(200)
    /// A fetched input starts this much after its first packet.
    static let start = Duration.milliseconds(100)
    /// A packet may be late by this much; the room's jitter buffer hides it.
    static let tolerance = Duration.milliseconds(20)
    /// The least wait is looked for in windows of this length.
    static let window = Duration.seconds(5)
    /// With so much more than `buffer` the clock runs faster …
    static let surplus = Duration.milliseconds(150)
    /// … and with so much more it steps ahead: a server that sends what it had kept.
    static let excess = Duration.milliseconds(1300)
    /// How much faster or slower the clock runs. The jitter buffer follows without being heard.
    static let slew = 0.005
    /// A packet that is so late belongs to another time.
    static let lost = Duration.seconds(10)

    private let pace: Pace
    /// The instant of media time zero, since the clock's start; nil before the anchor.
    private var offset: Duration?
    /// Packets up to this time were there before the anchor.
    private var anchor: Duration = .zero
    private var windowStart = Instant.zero
    private var least: Duration?
    private var rate = 0.0
    private var updated = Instant.zero

    init(_ pace: Pace) { self.pace = pace }

    var isAnchored: Bool { offset != nil }

    /// Sets the clock by a packet: for a source the newest that has come, otherwise the first.
    mutating func anchor(_ time: Duration, arrival: Instant) {
        offset = (arrival - .zero) - time + (pace == .own ? Self.start : Self.buffer)
        anchor = time
        (windowStart, updated, least, rate) = (arrival, arrival, nil, 0)
    }

    /// The instant at which a moment is played; `distantPast` before the anchor.
    func instant(of time: Duration) -> Instant { offset.map { Instant.zero + $0 + time } ?? .distantPast }

    /// Takes the arrival of a packet.
    mutating func received(_ time: Duration, arrival: Instant, at now: Instant) {
        guard let known = offset else { return }
        run(until: now)
        if pace == .source, time <= anchor { return }
        let wait = instant(of: time) - arrival
        if wait < .zero - Self.lost { return anchor(time, arrival: arrival) }
        if wait < .zero - Self.tolerance {
            // Nothing could be played meanwhile: everything comes that much later.
            offset = (offset ?? known) - wait
            (windowStart, least) = (now, nil)
            return
        }
        least = min(least ?? wait, wait)
        if pace == .source, now - windowStart >= Self.window { endWindow(at: now) }
    }

    private mutating func endWindow(at now: Instant) {
        let wait = least ?? Self.buffer
        (windowStart, least, rate) = (now, nil, 0)
        if wait > Self.buffer + Self.excess {
            offset = offset.map { $0 - (wait - Self.buffer) }
        } else if wait > Self.buffer + Self.surplus {
            rate = -Self.slew
        } else if wait < Self.buffer / 4 {
            rate = Self.slew
        }
    }

    private mutating func run(until now: Instant) {
        guard now > updated else { return }
        if rate != 0 { offset = offset.map { $0 + (now - updated) * rate } }
        updated = now
    }
}
