import Basics
import Foundation
import Threads

/// The measurements of a server and its callers in one window.
struct ScaleReading: Sendable {
    var people = 0
    /// The used processors of the server, and of the callers.
    var serverLoad = 0.0
    var callerLoad = 0.0
    /// The used processors of the server's threads, by name without numbers.
    var threads: [String: Double] = [:]
    /// The busiest one of the threads that share a name.
    var busiest: [String: Double] = [:]
    /// `tessera_overload_level`: above 0 the server makes pictures cheaper.
    var overload = 0
    /// The part of the callers' datagrams that arrived at another loop than their peer's.
    var handedOver = 0.0
    /// The part of the picture ticks at which composing was behind, and the skipped audio ticks.
    var lateTicks = 0.0
    var skippedAudio = 0.0

    /// The counters at the start or the end of a window.
    struct Moment {
        private let at = MonotonicClock.now()
        private let server: Double
        private let callers: Double
        private let threads: [String: Double]
        private let metrics: ServerMetrics

        init(_ process: ProcessStatistics, _ metrics: ServerMetrics) {
            server = process.time
            callers = ProcessStatistics.own.time
            threads = process.eachThread
            self.metrics = metrics
        }

        func since(_ old: Moment, people: Int) -> ScaleReading {
            let elapsed = (at - old.at).inSeconds
            var reading = ScaleReading(people: people)
            reading.serverLoad = (server - old.server) / elapsed
            reading.callerLoad = (callers - old.callers) / elapsed
            for (thread, time) in threads {
                let load = (time - (old.threads[thread] ?? 0)) / elapsed
                let name = ProcessStatistics.group(thread)
                reading.threads[name, default: 0] += load
                reading.busiest[name] = max(reading.busiest[name] ?? 0, load)
            }
            func counted(_ name: String) -> Double { (metrics.counters[name] ?? 0) - (old.metrics.counters[name] ?? 0) }
            reading.overload = Int(metrics.gauges["tessera_overload_level"] ?? 0)
            reading.handedOver = counted("tessera_datagrams_handed_over_total") / elapsed
            reading.lateTicks = counted("tessera_compose_late_ticks_total") / elapsed
            reading.skippedAudio = counted("tessera_audio_ticks_skipped_total") / elapsed
            return reading
        }
    }
}
