import Basics
import Glibc
import Sockets
import TestSupport
import Testing
import Threads

@testable import Conference
@testable import RoomMedia

@Suite("The pulse of a conference")
struct ConferencePulseTests {
    private func answers(_ conference: Conference, within time: Duration) async throws -> Bool {
        let pulse = Pulse()
        conference.ask(pulse)
        let end = MonotonicClock.now() + time
        while !pulse.isComplete, MonotonicClock.now() < end { try await Task.sleep(for: .milliseconds(5)) }
        return pulse.isComplete
    }

    @Test("every thread answers, and none is asked after the end")
    func alive() async throws {
        try await withConference({ $0.media.loops = 2 }) { conference in
            let isAlive = try await answers(conference, within: .seconds(20))
            #expect(isAlive)
        }
    }

    /// Each makes one thread wait for the gate.
    static let threads: [(name: String, hang: @Sendable (Conference, Gate) -> Void)] = [
        ("control", { conference, gate in conference.control.post { gate.wait() } }),
        ("network", { conference, gate in conference.media.peers.hosts[1].loop.execute { gate.wait() } }),
        ("audio", { conference, gate in conference.media.audioClocks[0].execute { _ in gate.wait() } }),
        ("pictures", { conference, gate in conference.media.videoClock.execute { gate.wait() } }),
    ]

    @Test("a thread that hangs is noticed, and that it goes on", arguments: threads.indices)
    func hanging(_ index: Int) async throws {
        try await withConference({ $0.media.loops = 2 }) { conference in
            let gate = Gate()
            Self.threads[index].hang(conference, gate)
            let pulse = Pulse()
            conference.ask(pulse)
            try await Task.sleep(for: .milliseconds(200))
            #expect(!pulse.isComplete, "\(Self.threads[index].name) hangs")
            gate.open()
            let isAlive = try await answers(conference, within: .seconds(20))
            #expect(isAlive)
        }
    }

    /// What a thread waits for.
    final class Gate: Sendable {
        private let isOpen = Guarded(false)
        func open() { isOpen.withLock { $0 = true } }
        func wait() { while !isOpen.withLock({ $0 }) { usleep(1000) } }
    }
}
