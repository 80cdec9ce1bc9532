package import Basics

/// The counts of HTTP requests.
package final class RequestCounts: Sendable {
    /// Why a request was refused before its route.
    package enum Refusal: String, Sendable, CaseIterable { case host, origin, rate }

    private struct Counts {
        var requests: [Int: Int] = [:]
        var refusals: [Refusal: Int] = [:]
    }

    private let counts = Guarded(Counts())

    package init() {}

    /// Counts by class: 2xx, 3xx, 4xx, 5xx.
    package func count(status: Int) { counts.withLock { $0.requests[status / 100, default: 0] += 1 } }
    func countRefused(_ reason: Refusal) { counts.withLock { $0.refusals[reason, default: 0] += 1 } }

    package var samples: [MetricSample] {
        let counts = counts.withLock { $0 }
        let requests = counts.requests.sorted { $0.key < $1.key }.map { status, count in
            MetricSample(
                "tessera_http_requests_total", "HTTP requests by class of status.", .counter, Double(count),
                labels: ["status": "\(status)xx"])
        }
        return requests
            + Refusal.allCases.map { reason in
                MetricSample(
                    "tessera_http_requests_refused_total",
                    "Requests refused for the name they used, the page they came from, or their rate.",
                    .counter, Double(counts.refusals[reason] ?? 0), labels: ["reason": reason.rawValue])
            }
    }
}
