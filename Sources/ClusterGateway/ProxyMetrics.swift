package import Basics
import Conference

/// The counts of what this node proxies for others.
package final class ProxyMetrics: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case http, list, events, webSocket = "websocket", rawTCP = "raw_tcp"
    }

    package enum Result: String, Sendable, CaseIterable {
        /// The owner took it, whatever its answer was.
        case done
        /// The node is not the owner (421).
        case misdirected
        /// The node takes no room now (503).
        case full
        /// Its port refuses connections.
        case refused
        /// No answer in time, or a connection that broke.
        case unanswered
        /// An answer that no node gives, or 401: another `cluster.secret`. Rules of alerts have this name of it.
        case invalidAnswer = "rubbish"
    }

    private struct Key: Hashable {
        var kind: Kind
        var result: Result
    }

    private let counts = Guarded<[Key: Int]>([:])

    func count(_ kind: Kind, _ result: Result) {
        counts.withLock { $0[Key(kind: kind, result: result), default: 0] += 1 }
    }

    package func value(_ kind: Kind, _ result: Result) -> Int {
        counts.withLock { $0[Key(kind: kind, result: result)] ?? 0 }
    }

    /// - Parameter pipes: the open ones.
    package func samples(pipes: Int) -> [MetricSample] {
        Kind.allCases.flatMap { kind in
            Result.allCases.map { result in
                MetricSample(
                    "tessera_cluster_proxied_total", "What this node has passed on to other nodes.", .counter,
                    Double(value(kind, result)), labels: ["kind": kind.rawValue, "result": result.rawValue])
            }
        } + [
            MetricSample(
                "tessera_cluster_pipes", "Open connections of clients that lead to other nodes.", .gauge,
                Double(pipes))
        ]
    }
}
