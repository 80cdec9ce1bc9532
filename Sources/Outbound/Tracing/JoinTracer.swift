package import Admission
package import Basics
import Conference
import FoundationEssentials
package import Logging
import Threads
import WebServer

/// Sends a trace of each join to an OpenTelemetry collector (`tracing.otlp`).
///
/// The media keeps the times of its first steps; the tracer reads them twice a second until a join is complete, its
/// participant is gone, or `limit` has passed. So tracing costs the media nothing, and a collector that is away costs
/// its traces only: they are dropped and counted.
package final class JoinTracer: Sendable {
    /// The longest time for which a join is followed: who only sends gets no frame at all.
    package static let limit = Duration.seconds(20)
    private static let period = Duration.milliseconds(500)
    /// Joins that are followed at once, and spans of one request; further ones are dropped.
    private static let maxJoins = 1000
    private static let maxSpans = 3000

    private struct Counts {
        var sent = 0
        var dropped = 0
    }

    private let url: String
    private let conference: ConferenceServices
    private let poster: any HTTPPoster
    private let version: String
    private let logger: Logger
    private let counts = Guarded(Counts())
    private let task = Guarded<Task<Void, Never>?>(nil)

    package init(
        _ url: String, _ conference: ConferenceServices, poster: any HTTPPoster, version: String,
        logger: Logger
    ) {
        self.url = url
        self.conference = conference
        self.poster = poster
        self.version = version
        self.logger = logger
        task.withLock { $0 = Task { [self] in await run() } }
    }

    package func stop() async {
        task.withLock { $0 }?.cancel()
        await task.withLock { $0 }?.value
        await poster.shutdown()
    }

    private func run() async {
        var position = 0
        var joins: [JoinTrace] = []
        var isFailing = false
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.period)
            readJoins(after: &position, into: &joins)
            var (waiting, spans): ([JoinTrace], [JSONValue]) = ([], [])
            for join in joins {
                var join = join
                let statistics = try? await conference.people.statistics(join.participant, in: join.room)
                if let statistics { join.milestones = statistics.milestones }
                let now = MonotonicClock.now()
                if statistics == nil || join.isComplete || now - join.joined > Self.limit {
                    if spans.count < Self.maxSpans {
                        spans += join.spans(at: now, clockOffset: Self.clockOffset)
                    } else {
                        counts.withLock { $0.dropped += 1 }
                    }
                } else {
                    waiting.append(join)
                }
            }
            let ended = joins.count - waiting.count
            joins = waiting
            if spans.isEmpty { continue }
            let answer = await poster.post(
                HTTPPost(
                    url: url, headers: [("content-type", "application/json")],
                    body: JoinTrace.body(spans, version: version),
                    timeout: .seconds(5)))
            if case .status(200...299, _) = answer {
                counts.withLock { $0.sent += ended }
                isFailing = false
            } else {
                counts.withLock { $0.dropped += ended }
                if !isFailing { logger.warning("Traces of joins are dropped: \(answer) (tracing.otlp)") }
                isFailing = true
            }
        }
    }

    private func readJoins(after position: inout Int, into joins: inout [JoinTrace]) {
        let bus = conference.state.events
        while true {
            let page = bus.page(after: position, limit: 500)
            guard let last = page.events.last?.event.sequence else { return }
            position = last
            for event in page.events.map(\.event) {
                guard case .participantJoined(let info) = event.happening, let room = event.room else { continue }
                guard joins.count < Self.maxJoins else {
                    counts.withLock { $0.dropped += 1 }
                    continue
                }
                let joined = Int64(event.time.timeIntervalSince1970 * 1e9) &- Self.clockOffset
                joins.append(
                    JoinTrace(
                        room: room, participant: info.id, joined: Instant(nanoseconds: joined),
                        hasCamera: info.video && info.role != .viewer))
            }
        }
    }

    /// Nanoseconds since 1970 at the zero of `MonotonicClock`.
    private static var clockOffset: Int64 {
        Int64(Date().timeIntervalSince1970 * 1e9) &- MonotonicClock.now().nanoseconds
    }

    package var samples: [MetricSample] {
        let counts = counts.withLock { $0 }
        return [
            MetricSample(
                "tessera_traces_sent_total", "Traces of joins that the collector took.", .counter, Double(counts.sent)),
            MetricSample(
                "tessera_traces_dropped_total",
                "Traces of joins that the collector did not take, or that were too many.",
                .counter, Double(counts.dropped)),
        ]
    }
}
