package import Basics
package import Synchronization
import Threads

/// The picture clock of all rooms: one thread with absolute deadlines.
///
/// A room has a clock for each frame rate of its views. A tick of a room with n frames a second lies at a whole multiple of 1/n s of the server's clock. Missed ticks are
/// skipped and counted, never caught up.
package final class VideoClock: Sendable {
    private struct Entry {
        let room: String
        let framesPerSecond: Int
        var next: Int64
        let tick: @Sendable (Instant) -> Void
    }

    private struct State {
        var entries: [Entry] = []
        /// Work for the thread's next turn.
        var work: [@Sendable () -> Void] = []
        var isStopped = false
    }

    /// A new room gets its first tick after this at the latest.
    private static let longestSleep = Duration.milliseconds(20)

    private let state = Guarded(State())
    private let overload: OverloadState
    /// The lateness of the last tick in nanoseconds, and the number of skipped ticks.
    package let lateness = Atomic<Int64>(0)
    package let skipped = Atomic<Int>(0)

    package init(overload: OverloadState) { self.overload = overload }

    /// Ticks for a room at this rate, beside its other rates. Without effect where it has this one already.
    func add(
        _ room: String, framesPerSecond: Int, at now: Instant = MonotonicClock.now(),
        tick: @escaping @Sendable (Instant) -> Void
    ) {
        state.withLock { state in
            guard !state.entries.contains(where: { $0.room == room && $0.framesPerSecond == framesPerSecond }) else {
                return
            }
            state.entries.append(
                Entry(
                    room: room, framesPerSecond: framesPerSecond, next: now.ticks(at: Int64(framesPerSecond)) + 1,
                    tick: tick))
        }
    }

    /// Ends the ticks of a room, but for these rates.
    func remove(_ room: String, except rates: Set<Int> = []) {
        state.withLock { $0.entries.removeAll { $0.room == room && !rates.contains($0.framesPerSecond) } }
    }

    /// Runs `work` on the thread within `longestSleep`; drops it after `stop`.
    package func execute(_ work: @escaping @Sendable () -> Void) { state.withLock { $0.work.append(work) } }

    package func stop() { state.withLock { $0.isStopped = true } }

    package func start() {
        DedicatedThread.start("picture clock") { [self] in
            while let wake = run(at: MonotonicClock.now()) { MonotonicClock.sleep(until: wake) }
        }
    }

    /// Runs the due ticks and returns the next wake-up; nil after `stop`.
    package func run(at now: Instant) -> Instant? {
        let half = overload.level >= .halfRate
        var due: [(@Sendable (Instant) -> Void, Instant)] = []
        var work: [@Sendable () -> Void] = []
        let wake: Instant? = state.withLock { state in
            if state.isStopped { return nil }
            swap(&work, &state.work)
            var wake = now + Self.longestSleep
            for index in state.entries.indices {
                let entry = state.entries[index]
                let rate = Int64(entry.framesPerSecond)
                let at = Instant(ticks: entry.next, at: rate)
                var next = entry.next
                if at <= now {
                    let current = now.ticks(at: rate)
                    if current > entry.next { skipped.wrappingAdd(Int(current - entry.next), ordering: .relaxed) }
                    let tick = Instant(ticks: current, at: rate)
                    lateness.store((now - tick).nanoseconds, ordering: .relaxed)
                    if !half || current % 2 == 0 { due.append((entry.tick, tick)) }
                    next = current + 1
                    state.entries[index].next = next
                }
                wake = min(wake, Instant(ticks: next, at: rate) + .nanoseconds(1))
            }
            return wake
        }
        for work in work { work() }
        for (tick, time) in due { tick(time) }
        return wake
    }
}
