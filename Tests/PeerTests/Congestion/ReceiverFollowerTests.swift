import Basics
import TestSupport
import Testing

@testable import Peer

/// A sender with three rungs that obeys its estimate, a link with a queue, and a receiver that sends REMB as aiortc
/// does, or only reports as GStreamer does.
private struct ReceiverLink {
    static let rungs = [110_000.0, 450_000, 1_500_000]
    static let audio = 30_000.0
    static let step = Duration.milliseconds(20)

    var estimator = BandwidthEstimator(BandwidthEstimatorConfiguration(), usesFeedback: false)
    /// The capacity of the link, in bit/s.
    var capacity: Double
    var roundTrip = 0.06
    /// The most that the application has to send.
    var limit = Double.infinity
    /// A fixed limit of the receiver instead of its estimate.
    var wish: Double?
    var tellsREMB = true
    /// Seconds between receiver reports.
    var reportInterval = 1
    /// Mean seconds between stalls of the receiver of 50 to 500 ms, as aiortc's loop has on a busy machine; nil: none.
    var stallInterval: Double?
    var random = SeededRandom(seed: 1)
    /// The longest that a sender's packet waited since this was cleared, in seconds.
    var longestQueue = 0.0
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
    private var ticks = 0
    private var stallEnd = 0
    /// A sender report's round trip, and when the receiver has it.
    private var answer: (roundTrip: Double, report: UInt32, at: Int)?
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
        let video = min(Self.rungs[rung], max(estimate - Self.audio, Self.rungs[rung] * 0.7), limit)
        let bits = (video + Self.audio) * Self.step.inSeconds
        estimator.packetSent(unnumbered: Int(bits / 8), at: now)
        let fits = max(0, 0.3 * capacity - queue + capacity * Self.step.inSeconds)
        let lost = max(0, bits - fits)
        queue += bits - lost
        let out = min(queue, capacity * Self.step.inSeconds)
        queue -= out
        longestQueue = max(longestQueue, queue / capacity)
        incoming += (out / Self.step.inSeconds - incoming) * 0.04
        sent += bits
        dropped += lost
        stall()
        if tellsREMB, ticks >= stallEnd, ticks == stallEnd || ticks % 25 == 0 { tell() }
        if ticks % (50 * reportInterval) == 0 {
            let late = Double(max(0, stallEnd - ticks)) * Self.step.inSeconds
            answer = (roundTrip + queue / capacity + late, UInt32(ticks), max(ticks, stallEnd))
        }
        if let answer, ticks >= answer.at, ticks >= stallEnd {
            self.answer = nil
            // aiortc reports about audio and picture apart, each with the same sender report's round trip.
            report(answer.roundTrip, of: answer.report)
            if stallInterval != nil { report(answer.roundTrip, of: answer.report) }
        }
    }

    private mutating func stall() {
        guard let stallInterval, ticks > stallEnd,
            Double.random(in: 0..<1, using: &random) < Self.step.inSeconds / stallInterval
        else { return }
        stallEnd = ticks + 2 + Int(Double.random(in: 0..<1, using: &random) * 24)
    }

    /// Up with a quarter of room after half a second, down at once when less than three quarters are there.
    private mutating func choose(_ estimate: Double) {
        let before = rung
        while rung > 0, estimate < Self.rungs[rung] * 0.75 + Self.audio { rung -= 1 }
        if rung < 2, estimate >= Self.rungs[rung + 1] * 1.25 + Self.audio {
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
        } else if queue / capacity > 0.05 || ticks == stallEnd {
            // The packets that waited in the socket look like a queue.
            told = incoming * 0.85
        } else {
            told = max(told, min(told * 1.04, incoming * 1.5 + 10_000))
        }
        estimator.receive(receiverLimit: BitRate(bitsPerSecond: Int(told)), at: now)
    }

    private mutating func report(_ roundTrip: Double, of report: UInt32) {
        estimator.receive(roundTrip: .nanoseconds(Int64(roundTrip * 1e9)), of: report, at: now)
        let packets = max(1, Int(sent / 8000))
        estimator.receive(lossOf: Int(Double(packets) * dropped / max(sent, 1)), expected: packets, at: now)
        sent = 0
        dropped = 0
    }
}

@Suite("A peer that sends REMB only")
struct ReceiverFollowerTests {
    @Test("A good link is on the top rung within ten seconds and stays there")
    func climbs() {
        var link = ReceiverLink(capacity: 10_000_000)
        link.run(for: 10)
        #expect(link.rung == 2)
        let moves = link.moves.count
        link.run(for: 50)
        #expect(link.rung == 2)
        #expect(link.moves.count == moves)
    }

    @Test("A thin link is tried once in half a minute", arguments: [200_000.0, 300_000, 400_000])
    func thin(capacity: Double) {
        var link = ReceiverLink(capacity: capacity)
        link.run(for: 30)
        #expect(link.moves.count(where: { $0.rung > 0 }) <= 1)
        link.run(for: 90)
        // Half a minute, then a minute, then two.
        #expect(link.moves.count(where: { $0.rung > 0 }) <= 4)
        #expect(link.rung == 0)
    }

    @Test("A middling link keeps the middle rung")
    func middling() {
        var link = ReceiverLink(capacity: 900_000)
        link.run(for: 30)
        #expect(link.rung == 1)
        #expect(link.moves.count(where: { $0.rung == 2 }) <= 1)
        // At most for the moment in which the top was tried.
        #expect(link.moves.count(where: { $0.rung == 0 }) <= 1)
    }

    @Test("A picture that is quiet from the start reaches the middle rung all the same")
    func quietStart() {
        var link = ReceiverLink(capacity: 10_000_000)
        link.limit = 10_000
        link.run(for: 10)
        #expect(link.rung == 1)
    }

    @Test("A quiet picture does not lower the estimate, and motion finds it unchanged")
    func quiet() {
        var link = ReceiverLink(capacity: 10_000_000)
        link.run(for: 15)
        let before = link.estimator.estimate
        link.limit = 20_000
        link.run(for: 30)
        #expect(link.estimator.estimate >= before)
        link.limit = .infinity
        link.run(for: 5)
        #expect(link.rung == 2)
    }

    @Test("The rate on a link that becomes thin is lowered within three seconds")
    func falls() {
        var link = ReceiverLink(capacity: 10_000_000)
        link.run(for: 15)
        link.capacity = 400_000
        link.run(for: 3)
        #expect(link.rung == 0)
        #expect(link.estimator.estimate < .kilobits(400))
    }

    @Test(
        "A static picture reaches the top rung within a minute; on a thin link the rate is lowered when motion begins"
    )
    func still() {
        var link = ReceiverLink(capacity: 500_000)
        link.limit = 20_000
        link.run(for: 60)
        #expect(link.rung == 2)
        link.limit = .infinity
        link.run(for: 3)
        #expect(link.rung < 2)
        #expect(link.estimator.estimate < .kilobits(500))
    }

    @Test("A fixed limit is obeyed")
    func wish() {
        var link = ReceiverLink(capacity: 10_000_000)
        link.wish = 300_000
        link.run(for: 60)
        #expect(link.moves.isEmpty)
        #expect(link.estimator.estimate == .kilobits(300))
    }

    @Test("A new limit is exceeded once, since it could be an estimate, and not again")
    func newWish() {
        var link = ReceiverLink(capacity: 10_000_000)
        link.wish = 2_000_000
        link.run(for: 15)
        #expect(link.rung == 2)
        link.wish = 300_000
        link.run(for: 60)
        #expect(link.rung == 0)
        #expect(link.moves.count(where: { $0.rung > 0 }) <= 3)
        #expect(link.estimator.estimate <= .kilobits(300))
    }

    @Test(
        "A receiver that answers late now and then reaches the top rung on a good link, and keeps it",
        arguments: seeds(1...8))
    func late(seed: UInt64) {
        var link = ReceiverLink(capacity: 10_000_000)
        link.random = SeededRandom(seed: seed)
        link.stallInterval = 1.5
        link.run(for: 15)
        #expect(link.rung == 2)
        let moves = link.moves.count
        link.run(for: 105)
        #expect(link.moves.count == moves)
    }

    @Test("A quiet picture of a receiver that answers late keeps its rung", arguments: seeds(1...8))
    func quietAndLate(seed: UInt64) {
        var link = ReceiverLink(capacity: 10_000_000)
        link.random = SeededRandom(seed: seed)
        link.stallInterval = 1.5
        link.run(for: 15)
        link.limit = 20_000
        link.run(for: 60)
        #expect(link.rung == 2)
    }

    @Test("A thin link is detected behind late answers too", arguments: seeds(1...8))
    func thinAndLate(seed: UInt64) {
        var link = ReceiverLink(capacity: 10_000_000)
        link.random = SeededRandom(seed: seed)
        link.stallInterval = 1.5
        link.run(for: 30)
        link.capacity = 400_000
        link.run(for: 6)
        #expect(link.rung == 0)
        #expect(link.estimator.estimate < .kilobits(400))
        link.run(for: 114)
        #expect(link.moves.count(where: { $0.rung > 0 && $0.seconds > 36 }) <= 4)
    }

    @Test("With audio alone, for which no REMB comes, reports alone bring the video back")
    func silentREMB() {
        var link = ReceiverLink(capacity: 10_000_000)
        link.run(for: 15)
        link.capacity = 60_000
        link.run(for: 15)
        #expect(link.estimator.estimate < .kilobits(60))
        link.capacity = 10_000_000
        link.tellsREMB = false
        link.run(for: 60)
        #expect(link.rung == 2)
    }

    @Test("An estimate that stays below the sent rate is no fixed limit")
    func stuck() {
        var link = ReceiverLink(capacity: 10_000_000)
        link.run(for: 15)
        // aiortc 1.14 after its process stalled for two seconds.
        link.wish = 51_000
        link.run(for: 60)
        #expect(link.rung == 2)
    }

    @Test("A link that has become better is detected")
    func recovers() {
        var link = ReceiverLink(capacity: 300_000)
        link.run(for: 20)
        link.capacity = 10_000_000
        link.run(for: 60)
        #expect(link.rung == 2)
    }
}

@Suite("A peer that sends reports only")
struct ReportsOnlyTests {
    private func link(capacity: Double, reportInterval: Int) -> ReceiverLink {
        var link = ReceiverLink(capacity: capacity)
        link.tellsREMB = false
        link.reportInterval = reportInterval
        return link
    }

    @Test("A good link is on the top rung, and stays there", arguments: [(1, 10.0), (5, 25)])
    func climbs(reportInterval: Int, seconds: Double) {
        var link = link(capacity: 10_000_000, reportInterval: reportInterval)
        link.run(for: seconds)
        #expect(link.rung == 2)
        let moves = link.moves.count
        link.run(for: 60)
        #expect(link.moves.count == moves)
    }

    @Test("A thin link is tried seldom", arguments: [1, 5], [150_000.0, 200_000, 300_000])
    func thin(reportInterval: Int, capacity: Double) {
        var link = link(capacity: capacity, reportInterval: reportInterval)
        link.run(for: 120)
        #expect(link.moves.count(where: { $0.rung > 0 }) <= 5)
        #expect(link.rung == 0)
    }

    @Test("The rate on a link that becomes thin is lowered with the second report", arguments: [1, 5])
    func falls(reportInterval: Int) {
        var link = link(capacity: 10_000_000, reportInterval: reportInterval)
        link.run(for: 30)
        link.capacity = 300_000
        link.run(for: Double(2 * reportInterval) + 1)
        #expect(link.rung == 0)
        #expect(link.estimator.estimate < .kilobits(330))
    }

    @Test(
        "150 kbit/s from the start are detected by their queue, however late the answers",
        arguments: [nil, 1.5] as [Double?], seeds(1...4))
    func thinQueue(stallInterval: Double?, seed: UInt64) {
        var link = link(capacity: 150_000, reportInterval: 1)
        link.random = SeededRandom(seed: seed)
        link.stallInterval = stallInterval
        // A rate above the lowest rung is tried once.
        link.run(for: 10)
        #expect(link.moves.count(where: { $0.rung > 0 }) <= 1)
        #expect(link.estimator.estimate < .kilobits(300), "the next rung needs twice as much")
        let moves = link.moves.count
        link.longestQueue = 0
        link.run(for: 20)
        #expect(link.longestQueue < 0.15)
        #expect(link.moves.count == moves)
    }

    @Test("Late answers do not prevent the top rung", arguments: seeds(1...8))
    func late(seed: UInt64) {
        var link = link(capacity: 10_000_000, reportInterval: 1)
        link.random = SeededRandom(seed: seed)
        link.stallInterval = 1.5
        link.run(for: 15)
        #expect(link.rung == 2)
        let moves = link.moves.count
        link.run(for: 105)
        #expect(link.moves.count == moves)
    }
}
