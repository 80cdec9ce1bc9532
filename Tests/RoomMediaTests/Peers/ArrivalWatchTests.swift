import Basics
import Testing

@testable import RoomMedia

/// A peer whose packets the test counts, a second at a time.
private struct Simulation {
    var watch: ArrivalWatch
    private var (audio, video, all) = (0, 0, 0)

    init(claims: MediaKinds = [.audio, .video]) { watch = ArrivalWatch(claimed: claims) }

    /// Lets seconds pass in which these kinds come.
    ///
    /// - Parameters:
    ///   - level: of the audio, in −dBov.
    ///   - isAlive: whether reports come, whatever media do.
    mutating func pass(_ seconds: Int, _ kinds: MediaKinds = [], level: UInt8? = 30, isAlive: Bool = true) {
        for _ in 0..<seconds {
            if kinds.contains(.audio) {
                audio += 50
                watch.heard(level: level)
            }
            if kinds.contains(.video) { video += 30 }
            all += isAlive ? 1 + (kinds.isEmpty ? 0 : 50) : 0
            watch.measure(audio: audio, video: video, all: all, over: .seconds(1))
        }
    }
}

@Suite("What comes from a peer")
struct ArrivalWatchTests {
    @Test("what comes is heard and seen, and nothing is missing")
    func comes() {
        var peer = Simulation()
        #expect(peer.watch.heard == .nothing && peer.watch.seen == .nothing)
        peer.pass(1, [.audio, .video])
        #expect(peer.watch.heard == .sound && peer.watch.seen == .pictures)
        peer.pass(600, [.audio, .video])
        #expect(peer.watch.missing.isEmpty)
    }

    @Test("what never comes is missing after four seconds, and what comes after all is not")
    func neverComes() {
        var peer = Simulation()
        peer.pass(3, .video)
        #expect(peer.watch.missing.isEmpty)
        peer.pass(1, .video)
        #expect(peer.watch.missing == .audio && peer.watch.missing.names == ["audio"])
        peer.pass(1, .audio)
        #expect(peer.watch.missing.isEmpty && peer.watch.heard == .sound)
        peer.pass(3, .audio)
        #expect(peer.watch.missing == .video && peer.watch.seen == .nothing)
    }

    @Test("who has long been muted has four seconds to be heard")
    func unmutes() {
        var peer = Simulation(claims: [])
        peer.pass(100)
        #expect(peer.watch.missing.isEmpty && peer.watch.heard == .nothing)
        peer.watch.claim(.audio)
        peer.pass(3)
        // A state that says the same again gives no more time.
        peer.watch.claim([.audio, .video])
        #expect(peer.watch.missing.isEmpty)
        peer.pass(1)
        #expect(peer.watch.missing == .audio)
        peer.watch.claim([])
        #expect(peer.watch.missing.isEmpty)
    }

    @Test("packets that say that they are silent are silence, others are sound")
    func silence() {
        var peer = Simulation()
        peer.pass(1, .audio, level: 127)
        #expect(peer.watch.heard == .silence && peer.watch.missing.isEmpty)
        peer.pass(1, .audio, level: 126)
        #expect(peer.watch.heard == .sound)
        peer.pass(3, .audio, level: 127)
        #expect(peer.watch.heard == .sound, "a pause in speech")
        peer.pass(1, .audio, level: 127)
        #expect(peer.watch.heard == .silence)
        peer.pass(1, .audio, level: nil)
        #expect(peer.watch.heard == .sound, "levels are optional")
        peer.pass(4)
        #expect(peer.watch.heard == .nothing)
    }

    @Test("a link on which nothing comes says nothing about devices")
    func deadLink() {
        var peer = Simulation()
        peer.pass(5, [.audio, .video])
        peer.pass(60, isAlive: false)
        #expect(peer.watch.missing.isEmpty && peer.watch.heard == .sound)
        peer.watch.interrupt()
        peer.pass(3)
        #expect(peer.watch.missing.isEmpty)
        peer.pass(1)
        #expect(peer.watch.missing == [.audio, .video])
    }

    @Test("another stream counts anew, and comes all the same")
    func otherStream() {
        var watch = ArrivalWatch(claimed: .audio)
        for (second, packets) in [500, 510, 3, 7, 9, 11].enumerated() {
            watch.measure(audio: packets, video: 0, all: second + 1, over: .seconds(1))
        }
        #expect(watch.missing.isEmpty && watch.heard != .nothing)
    }

    @Test("each change is reported once, the first state too, and at most one in two seconds")
    func reports() {
        var peer = Simulation()
        #expect(peer.watch.report() == [])
        #expect(peer.watch.report() == nil)
        peer.pass(4, .video)
        #expect(peer.watch.report() == .audio)
        #expect(peer.watch.report() == nil)
        peer.watch.interrupt()
        #expect(peer.watch.report() == [])
        // A packet every five seconds, by somebody who wants the room to be told often.
        var reports = 0
        for second in 0..<100 {
            peer.pass(1, second.isMultiple(of: 5) ? [.audio, .video] : .video)
            if peer.watch.report() != nil { reports += 1 }
        }
        #expect(reports <= 40, "\(reports)")
    }
}
