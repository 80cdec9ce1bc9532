import Basics


/// What the doors count of themselves.
final class GatewayFigures: Sendable {
    private struct Counts {
        var requests: [Int: Int] = [:]
        var refusals: [String: Int] = [:]
        var refusedRequests: [String: Int] = [:]
        var connections = 0
        var messages = 0
        var badMessages = 0
    }

    private let counts = Guarded(Counts())

    /// By class: 2xx, 3xx, 4xx, 5xx.
    func countRequest(status: Int) { counts.withLock { $0.requests[status / 100, default: 0] += 1 } }
    /// A join that was refused, by the code of its error.
    func countRefusal(_ code: String) { counts.withLock { $0.refusals[code, default: 0] += 1 } }
    /// A request that was refused before its route: `host`, `origin`, `rate`.
    func countRefusedRequest(_ reason: String) { counts.withLock { $0.refusedRequests[reason, default: 0] += 1 } }
    func connectionOpened() { counts.withLock { $0.connections += 1 } }
    func connectionClosed() { counts.withLock { $0.connections -= 1 } }
    func countMessage(isBad: Bool) {
        counts.withLock {
            $0.messages += 1
            if isBad { $0.badMessages += 1 }
        }
    }

    var lines: [MetricLine] {
        let counts = counts.withLock { $0 }
        var lines = counts.requests.sorted { $0.key < $1.key }.map { status, count in
            MetricLine(
                name: "tessera_http_requests_total", help: "HTTP requests by class of status.", kind: .counter,
                labels: [("status", "\(status)xx")], value: Double(count))
        }
        lines += counts.refusals.sorted { $0.key < $1.key }.map { code, count in
            MetricLine(
                name: "tessera_joins_refused_total", help: "Joins refused, by code.", kind: .counter, labels: [("code", code)],
                value: Double(count))
        }
        lines += ["host", "origin", "rate"].map { reason in
            MetricLine(
                name: "tessera_http_requests_refused_total", help: "Requests refused for the name they used, the page they came from, or their rate.",
                kind: .counter, labels: [("reason", reason)], value: Double(counts.refusedRequests[reason] ?? 0))
        }
        lines.append(
            MetricLine(
                name: "tessera_signalling_connections", help: "Open signalling connections.", kind: .gauge,
                value: Double(counts.connections)))
        lines.append(
            MetricLine(
                name: "tessera_signalling_messages_total", help: "Signalling messages received.", kind: .counter,
                value: Double(counts.messages)))
        lines.append(
            MetricLine(
                name: "tessera_signalling_bad_messages_total", help: "Signalling messages that could not be read.", kind: .counter,
                value: Double(counts.badMessages)))
        return lines
    }
}
