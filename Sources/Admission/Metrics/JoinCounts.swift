package import Basics
package import Conference
package import Logging
import Threads
package import WebServer

/// The counts of joins and of signalling, by the clients' families.
package final class JoinCounts: Sendable {
    private struct FamilyRefusal: Hashable {
        var family: ClientFamily
        var code: ErrorCode
    }

    private struct Counts {
        var joins: [ClientFamily: Int] = [:]
        var refusals: [FamilyRefusal: Int] = [:]
        var connections = 0
        var messages = 0
        var badMessages = 0
    }

    private let counts = Guarded(Counts())
    private let logger: Logger
    /// A refused client may come again at once, without end, so these lines are limited.
    private let refusalLines = LogAllowance(perSecond: 2, atOnce: 20, at: MonotonicClock.now())

    package init(_ logger: Logger) { self.logger = logger }

    package func joined(_ family: ClientFamily) { counts.withLock { $0.joins[family, default: 0] += 1 } }
    /// Counts a refused join, and logs it within the allowance.
    package func refused(_ refusal: Refusal, _ request: JoinRequest, _ family: ClientFamily) {
        counts.withLock { $0.refusals[FamilyRefusal(family: family, code: refusal.code), default: 0] += 1 }
        guard let suppressed = refusalLines.take(at: MonotonicClock.now()) else { return }
        var metadata: Logger.Metadata = [
            "room": "\(request.room)", "family": "\(family.rawValue)", "code": "\(refusal.code.rawValue)",
        ]
        if let address = request.client.address { metadata["address"] = "\(address)" }
        if suppressed > 0 { metadata["suppressed"] = "\(suppressed)" }
        logger.info("a join was refused: \(refusal.message)", metadata: metadata)
    }
    package func connectionOpened() { counts.withLock { $0.connections += 1 } }
    package func connectionClosed() { counts.withLock { $0.connections -= 1 } }
    package func countMessage(isBad: Bool) {
        counts.withLock {
            $0.messages += 1
            if isBad { $0.badMessages += 1 }
        }
    }

    package var samples: [MetricSample] {
        let counts = counts.withLock { $0 }
        var samples = ClientFamily.allCases.map { family in
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
