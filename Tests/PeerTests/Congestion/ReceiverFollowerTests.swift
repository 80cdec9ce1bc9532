import Basics
import Testing

@testable import Peer

/// A sender with three rungs that obeys its estimate, a line with a queue, and a receiver that tells REMB as aiortc does, or only
/// reports as GStreamer does.
private struct ReceiverLine {
    static let rungs = [110_000.0, 450_000, 1_500_000]
    static let sound = 30_000.0
    static let step = Duration.milliseconds(20)

    var estimator = BandwidthEstimator(BandwidthEstimatorConfiguration(), usesFeedback: false)
    /// What the line carries, in bit/s.
    var capacity: Double
    var roundTrip = 0.06
    /// What the application has to send at most.
    var limit = Double.infinity
    /// The receiver's own wish in the place of its estimate.
    var wish: Double?
    var tellsREMB = true
    /// Seconds between receiver reports.
    var reportInterval = 1
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private(set) var rung = 0
    /// Every change of rung: when, and to which.
    private(set) var moves: [(seconds: Double, rung: Int)] = []
    private var queue = 0.0
    private var told = 30_000_000.0
    private var arrived = 0.0
    private var dropped = 0.0
    private var sent = 0.0
    private var incoming = 0.0
    private var sinceReport = 0
    private var ticks = 0
    private var betterSince: Int?

    init(capacity: Double) { self.capacity = capacity }

    private var seconds: Double { Double(ticks) * Self.step.inSeconds }

    mutating func run(for duration: Double) {
        for _ in 0..<Int(duration / Self.step.inSeconds) { tick() }
    }

    private mutating func tick() {
        now += Self.step
        ticks += 1
        let estimate = Double(estimator.estimate.bitsPerSecond)
        choose(estimate)
        let video = min(Self.rungs[rung], max(estimate - Self.sound, Self.rungs[rung] * 0.7), limit)
        let bits = (video + Self.sound) * Self.step.inSeconds
        estimator.packetSent(unnumbered: Int(bits / 8), at: now)
        let fits = max(0, 0.3 * capacity - queue + capacity * Self.step.inSeconds)
        let lost = max(0, bits - fits)
        queue += bits - lost
        let out = min(queue, capacity * Self.step.inSeconds)
        queue -= out
        incoming += (out / Self.step.inSeconds - incoming) * 0.04
        sent += bits
        dropped += lost
        if tellsREMB, ticks % 25 == 0 { tell() }
        if ticks % (50 * reportInterval) == 0 { report() }
    }

    /// Up with a quarter of room after half a second, down at once when less than three quarters are there.
    private mutating func choose(_ estimate: Double) {
        let before = rung
        while rung > 0, estimate < Self.rungs[rung] * 0.75 + Self.sound { rung -= 1 }
        if rung < 2, estimate >= Self.rungs[rung + 1] * 1.25 + Self.sound {
            let since = betterSince ?? ticks
            betterSince = since
            if ticks - since >= 25 { rung += 1 }
        } else {
            betterSince = nil
        }
        if rung != before {
            betterSince = nil
            moves.append((seconds, rung))
        }
    }

    private mutating func tell() {
        if let wish {
            told = wish
        } else if told == 30_000_000 {
            if seconds >= 3 { told = incoming }
        } else if queue / capacity > 0.05 {
            told = incoming * 0.85
        } else {
            told = max(told, min(told * 1.04, incoming * 1.5 + 10_000))
        }
        estimator.receive(receiverLimit: BitRate(bitsPerSecond: Int(told)), at: now)
    }

    private mutating func report() {
        estimator.receive(roundTrip: .nanoseconds(Int64((roundTrip + queue / capacity) * 1e9)))
        let packets = max(1, Int(sent / 8000))
        estimator.receive(lossOf: Int(Double(packets) * dropped / max(sent, 1)), expected: packets, at: now)
        sent = 0
        dropped = 0
    }
}

@Suite("A peer that sends REMB only")
struct ReceiverFollowerTests {
    @Test("A good line is on the top rung within ten seconds and stays there")
    func climbs() {
        var line = ReceiverLine(capacity: 10_000_000)
        line.run(for: 10)
        #expect(line.rung == 2)
        let moves = line.moves.count
        line.run(for: 50)
        #expect(line.rung == 2)
        #expect(line.moves.count == moves)
    }

    @Test("A thin line is tried once in half a minute", arguments: [200_000.0, 300_000, 400_000])
    func thin(capacity: Double) {
        var line = ReceiverLine(capacity: capacity)
        line.run(for: 30)
        #expect(line.moves.count(where: { $0.rung > 0 }) <= 1)
        line.run(for: 90)
        // Half a minute, then a minute, then two.
        #expect(line.moves.count(where: { $0.rung > 0 }) <= 4)
        #expect(line.rung == 0)
    }

    @Test("A middling line keeps the middle rung")
    func middling() {
        var line = ReceiverLine(capacity: 900_000)
        line.run(for: 30)
        #expect(line.rung == 1)
        #expect(line.moves.count(where: { $0.rung == 2 }) <= 1)
        // At most for the moment in which the top was tried.
        #expect(line.moves.count(where: { $0.rung == 0 }) <= 1)
    }

    @Test("A picture that is quiet from the start reaches the middle rung all the same")
    func quietStart() {
        var line = ReceiverLine(capacity: 10_000_000)
        line.limit = 10_000
        line.run(for: 10)
        #expect(line.rung == 1)
    }

    @Test("A quiet picture does not lower the estimate, and motion finds it as it was")
    func quiet() {
        var line = ReceiverLine(capacity: 10_000_000)
        line.run(for: 15)
        let before = line.estimator.estimate
        line.limit = 20_000
        line.run(for: 30)
        #expect(line.estimator.estimate >= before)
        line.limit = .infinity
        line.run(for: 5)
        #expect(line.rung == 2)
    }

    @Test("A line that becomes thin is left within three seconds")
    func falls() {
        var line = ReceiverLine(capacity: 10_000_000)
        line.run(for: 15)
        line.capacity = 400_000
        line.run(for: 3)
        #expect(line.rung == 0)
        #expect(line.estimator.estimate < .kilobits(400))
    }

    @Test("A still picture comes to the top rung within a minute; what it let us believe of a thin line is taken back as motion begins")
    func still() {
        var line = ReceiverLine(capacity: 500_000)
        line.limit = 20_000
        line.run(for: 60)
        #expect(line.rung == 2)
        line.limit = .infinity
        line.run(for: 3)
        #expect(line.rung < 2)
        #expect(line.estimator.estimate < .kilobits(500))
    }

    @Test("A fixed wish is obeyed")
    func wish() {
        var line = ReceiverLine(capacity: 10_000_000)
        line.wish = 300_000
        line.run(for: 60)
        #expect(line.moves.isEmpty)
        #expect(line.estimator.estimate == .kilobits(300))
    }

    @Test("A new wish is tried once, since it could be an estimate, and not again")
    func newWish() {
        var line = ReceiverLine(capacity: 10_000_000)
        line.wish = 2_000_000
        line.run(for: 15)
        #expect(line.rung == 2)
        line.wish = 300_000
        line.run(for: 60)
        #expect(line.rung == 0)
        #expect(line.moves.count(where: { $0.rung > 0 }) <= 3)
        #expect(line.estimator.estimate <= .kilobits(300))
    }

    @Test("A line that has become better is found")
    func recovers() {
        var line = ReceiverLine(capacity: 300_000)
        line.run(for: 20)
        line.capacity = 10_000_000
        line.run(for: 60)
        #expect(line.rung == 2)
    }
}

@Suite("A peer that sends reports only")
struct ReportsOnlyTests {
    private func line(capacity: Double, reportInterval: Int) -> ReceiverLine {
        var line = ReceiverLine(capacity: capacity)
        line.tellsREMB = false
        line.reportInterval = reportInterval
        return line
    }

    @Test("A good line is on the top rung, and stays there", arguments: [(1, 10.0), (5, 25)])
    func climbs(reportInterval: Int, seconds: Double) {
        var line = line(capacity: 10_000_000, reportInterval: reportInterval)
        line.run(for: seconds)
        #expect(line.rung == 2)
        let moves = line.moves.count
        line.run(for: 60)
        #expect(line.moves.count == moves)
    }

    @Test("A thin line is tried seldom", arguments: [1, 5], [200_000.0, 300_000])
    func thin(reportInterval: Int, capacity: Double) {
        var line = line(capacity: capacity, reportInterval: reportInterval)
        line.run(for: 120)
        #expect(line.moves.count(where: { $0.rung > 0 }) <= 5)
        #expect(line.rung == 0)
    }

    @Test("A line that becomes thin is left with the second report", arguments: [1, 5])
    func falls(reportInterval: Int) {
        var line = line(capacity: 10_000_000, reportInterval: reportInterval)
        line.run(for: 30)
        line.capacity = 300_000
        line.run(for: Double(2 * reportInterval) + 1)
        #expect(line.rung == 0)
        #expect(line.estimator.estimate < .kilobits(330))
    }
}
