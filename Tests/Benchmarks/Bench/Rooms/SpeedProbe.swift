import Basics
import Codecs
import Threads

/// Measures how fast the machine is during another measurement, by the processor time of a fixed amount of codec work,
/// done five times a second. Processors that share a core, a cache or a host slow each other down, and a room keeps
/// more of them busy than its bare work on one thread; the probe shows how much of a difference has this cause.
final class SpeedProbe: Sendable {
    private static let period = Duration.milliseconds(200)

    private struct State {
        var seconds: [Double] = []
        var isStopped = false
    }

    private let state = Guarded(State())

    /// Starts the probe on a thread of its own.
    init(_ footage: Footage) throws(BenchError) {
        DedicatedThread.start("probe") { [self] in
            guard let work = try? BareCost.pair(footage) else { return }
            var next = MonotonicClock.now()
            while !state.withLock({ $0.isStopped }) {
                var times = StageTimes()
                guard (try? work.run(&times)) != nil else { return }
                state.withLock { $0.seconds.append(times.video) }
                next = max(next + Self.period, MonotonicClock.now())
                MonotonicClock.sleep(until: next)
            }
        }
    }

    /// The median time of the work since the last call, in seconds.
    func take() -> Double {
        state.withLock { state in
            defer { state.seconds.removeAll() }
            return Statistics.median(state.seconds)
        }
    }

    func stop() { state.withLock { $0.isStopped = true } }
}
