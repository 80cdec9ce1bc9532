import Basics
import Synchronization

/// The durations of a loop's turns, by the clock and in processor time. All peers of the loop wait for a turn to end,
/// so the longest turn bounds the delay that one peer caused to the others.
///
/// Written by the loop's thread alone, read by any.
package final class LoopTurns: Sendable {
    /// Seconds that `longestLately` covers.
    static let window = 15
    /// The steps of the histogram, in milliseconds.
    private static let bounds = [1, 2, 5, 10, 20, 50, 100, 500]

    struct Longest: Hashable, Sendable {
        var wall = Duration.zero
        /// The thread's processor time in that turn: much less than `wall` where the system let the thread wait.
        var processor = Duration.zero
    }

    /// The longest turn of one second.
    private final class Second: Sendable {
        let number = Atomic<Int64>(.min)
        let wall = Atomic<Int64>(0)
        let processor = Atomic<Int64>(0)

        func take(_ wall: Int64, _ processor: Int64) {
            guard wall > self.wall.load(ordering: .relaxed) else { return }
            self.processor.store(processor, ordering: .relaxed)
            self.wall.store(wall, ordering: .relaxed)
        }

        func restart(_ number: Int64) {
            wall.store(0, ordering: .relaxed)
            processor.store(0, ordering: .relaxed)
            self.number.store(number, ordering: .relaxed)
        }
    }

    private let seconds = (0..<window + 1).map { _ in Second() }
    private let overall = Second()
    private let spentNanoseconds = Atomic<Int64>(0)
    private let turns = Histogram(milliseconds: LoopTurns.bounds)

    /// A turn ended at `now`.
    func took(_ wall: Duration, processor: Duration, at now: Instant) {
        let (nanoseconds, spent) = (wall.nanoseconds, processor.nanoseconds)
        let number = now.nanoseconds / 1_000_000_000
        let second = seconds[Int(number % Int64(seconds.count))]
        if second.number.load(ordering: .relaxed) != number { second.restart(number) }
        second.take(nanoseconds, spent)
        overall.take(nanoseconds, spent)
        turns.add(wall)
        spentNanoseconds.wrappingAdd(spent, ordering: .relaxed)
    }

    /// The loop's processor time since its start.
    package var spent: Duration { .nanoseconds(spentNanoseconds.load(ordering: .relaxed)) }

    var longest: Longest { Self.read(overall) }

    /// The longest turn of the last `window` seconds.
    func longestLately(at now: Instant) -> Longest {
        let number = now.nanoseconds / 1_000_000_000
        return seconds.filter { $0.number.load(ordering: .relaxed) > number - Int64(Self.window) }.map(Self.read)
            .max { $0.wall < $1.wall } ?? Longest()
    }

    private static func read(_ second: Second) -> Longest {
        Longest(
            wall: .nanoseconds(second.wall.load(ordering: .relaxed)),
            processor: .nanoseconds(second.processor.load(ordering: .relaxed)))
    }

    /// The metrics of several loops: the longest turn of any, and the histogram of all turns together.
    static func samples(of all: [LoopTurns], at now: Instant) -> [MetricSample] {
        func longest(_ of: (LoopTurns) -> Longest) -> Longest { all.map(of).max { $0.wall < $1.wall } ?? Longest() }
        var samples: [MetricSample] = []
        for (window, longest) in [
            ("\(window)s", longest { $0.longestLately(at: now) }), ("start", longest { $0.longest }),
        ] {
            for (clock, value) in [("wall", longest.wall), ("cpu", longest.processor)] {
                samples.append(
                    MetricSample(
                        "tessera_loop_turn_longest_seconds",
                        "The longest turn of a network loop, of the last 15 s and since the start; cpu: its processor time.",
                        .gauge,
                        value.inSeconds, labels: ["window": window, "clock": clock]))
            }
        }
        let turns = Histogram(milliseconds: bounds)
        for loop in all { turns.add(loop.turns) }
        return samples + turns.samples("tessera_loop_turn_seconds", "Turns of the network loops by duration.")
    }
}
