import Basics
import Glibc
import TestSupport
import Testing
import Threads

@testable import Conference
@testable import RoomMedia

/// A thread of the pool that does not return, as from a codec that loops.
@Suite("A blocked worker", .serialized)
struct BlockedWorkerRealTimeTests {
    private func withBlockedWorker(workers: Int?, _ body: (Conference, () -> Void) async throws -> Void) async throws {
        try await withConference({ settings in
            settings.savesWorkWhenOverloaded = true
            settings.rooms.settings.width = 320
            settings.rooms.settings.height = 180
            settings.workers = workers
        }) { conference in
            let isBlocked = Guarded(true)
            let isRunning = Guarded(false)
            defer { isBlocked.withLock { $0 = false } }
            let lane = SerialLane(pool: conference.media.pool, meter: StageMeter("test"), limit: 1)
            lane.submit {
                isRunning.withLock { $0 = true }
                while isBlocked.withLock({ $0 }) { usleep(1000) }
            }
            #expect(await eventually { isRunning.withLock { $0 } })
            for room in ["a", "b"] { try conference.rooms.create(room, RoomSettingsChange()) }
            try await body(conference) { isBlocked.withLock { $0 = false } }
        }
    }

    @Test("the rooms go on with the other threads, of which there is always one")
    func others() async throws {
        try await withBlockedWorker(workers: nil) { conference, _ in
            for room in ["a", "b", "a"] { _ = try await conference.rooms.snapshot(room) }
        }
    }

    @Test("without a free thread the overload level rises, audio goes on, and pictures return with the thread")
    func none() async throws {
        try await withBlockedWorker(workers: 1) { conference, unblock in
            // A room whose output nobody takes has no ticks that could be late.
            _ = try await conference.recordings.start("a")
            #expect(await eventually { conference.media.overload.level > .none })
            let tick = Guarded(false)
            conference.media.audioClocks[0].execute { _ in tick.withLock { $0 = true } }
            #expect(await eventually(.seconds(2)) { tick.withLock { $0 } })
            unblock()
            _ = try await conference.rooms.snapshot("a")
            _ = try await conference.rooms.snapshot("b")
        }
    }
}
