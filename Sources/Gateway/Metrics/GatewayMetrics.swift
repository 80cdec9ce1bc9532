import Basics
import Conference
import Logging
import Threads

/// The counts of the endpoints.
final class GatewayMetrics: Sendable {
    /// Why a request was refused before its route.
    enum RefusedRequest: String, Sendable, CaseIterable { case host, origin, rate }

    private struct FamilyRefusal: Hashable {
        var family: ClientFamily
        var code: ErrorCode
    }

    private struct Counts {
        var requests: [Int: Int] = [:]
        var joins: [ClientFamily: Int] = [:]
        var refusals: [FamilyRefusal: Int] = [:]
        var refusedRequests: [RefusedRequest: Int] = [:]
        var connections = 0
        var messages = 0
        var badMessages = 0
    }

    private let counts = Guarded(Counts())
    private let logger: Logger
    /// A refused client may come again at once, without end, so these lines are limited.
    private let refusalLines = LogAllowance(perSecond: 2, atOnce: 20, at: MonotonicClock.now())

    init(_ logger: Logger) { self.logger = logger }

    /// Counts by class: 2xx, 3xx, 4xx, 5xx.
    func countRequest(status: Int) { counts.withLock { $0.requests[status / 100, default: 0] += 1 } }
    func joined(_ family: ClientFamily) { counts.withLock { $0.joins[family, default: 0] += 1 } }
    /// Counts a refused join, and logs it within the allowance.
    func refused(_ refusal: Refusal, _ request: JoinRequest, _ family: ClientFamily) {
        counts.withLock { $0.refusals[FamilyRefusal(family: family, code: refusal.code), default: 0] += 1 }
        guard let suppressed = refusalLines.take(at: MonotonicClock.now()) else { return }
        var metadata: Logger.Metadata = [
            "room": "\(request.room)", "family": "\(family.rawValue)", "code": "\(refusal.code.rawValue)",
        ]
        if let address = request.client.address { metadata["address"] = "\(address)" }
        if suppressed > 0 { metadata["untold"] = "\(suppressed)" }
        logger.info("a join was refused: \(refusal.message)", metadata: metadata)
    }
    func countRefusedRequest(_ reason: RefusedRequest) {
        counts.withLock { $0.refusedRequests[reason, default: 0] += 1 }
    }
    func connectionOpened() { counts.withLock { $0.connections += 1 } }
    func connectionClosed() { counts.withLock { $0.connections -= 1 } }
    func countMessage(isBad: Bool) {
        counts.withLock {
            $0.messages += 1
            if isBad { $0.badMessages += 1 }
        }
    }

    var samples: [MetricSample] {
        let counts = counts.withLock { $0 }
        var samples = counts.requests.sorted { $0.key < $1.key }.map { status, count in
            MetricSample(
                "tessera_http_requests_total", "HTTP requests by class of status.", .counter, Double(count),
                labels: ["status": "\(status)xx"])
        }
        samples += ClientFamily.allCases.map { family in
            MetricSample(
                "tessera_joins_total", "Joins, by the client's family.", .counter, Double(counts.joins[family] ?? 0),
                labels: ["family": family.rawValue])
        }
        let refusals = counts.refusals.sorted {
            ($0.key.code.rawValue, $0.key.family.rawValue) < ($1.key.code.rawValue, $1.key.family.rawValue)
        }
        samples += refusals.map { refusal, count in
            MetricSample(
                "tessera_joins_refused_total", "Joins refused, by code and the client's family.", .counter,
                Double(count),
                labels: ["code": refusal.code.rawValue, "family": refusal.family.rawValue])
        }
        samples += RefusedRequest.allCases.map { reason in
            MetricSample(
                "tessera_http_requests_refused_total",
                "Requests refused for the name they used, the page they came from, or their rate.",
                .counter, Double(counts.refusedRequests[reason] ?? 0), labels: ["reason": reason.rawValue])
        }
        samples += [
            MetricSample(
                "tessera_signalling_connections", "Open signalling connections.", .gauge, Double(counts.connections)),
            MetricSample(
                "tessera_signalling_messages_total", "Signalling messages received.", .counter,
                Double(counts.messages)),
            MetricSample(
                "tessera_signalling_bad_messages_total", "Signalling messages that could not be read.", .counter,
                Double(counts.badMessages)),
        ]
        return samples
    }
}
