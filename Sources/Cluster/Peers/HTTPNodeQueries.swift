import AsyncHTTPClient
import Basics
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Asks nodes by HTTP at their internal listeners.
package final class HTTPNodeQueries: NodeQueries {
    /// The headers that prove to `node` who asks, such as `Tessera-Cluster` with a fresh token.
    package typealias Headers = @Sendable (_ node: NodeRecord) -> [(name: String, value: String)]

    /// More than the answer of a cluster of a thousand nodes.
    private static let answerBytes = 256 << 10

    private let client: HTTPClient
    private let headers: Headers

    package init(_ tls: ClusterSettings.TLS, headers: @escaping Headers) throws(ClusterFault) {
        client = try HTTPClient(cluster: tls, connectTimeout: .milliseconds(300))
        self.headers = headers
    }

    package func ask(_ node: NodeRecord, within limit: Duration) async -> PeerAnswer {
        await get(AliveAnswer.self, "/cluster/alive", node, within: limit) { alive in
            alive.node == node.id ? .alive(alive) : .silent
        }
    }

    package func witness(_ node: NodeRecord, of other: NodeRecord, within limit: Duration) async -> PeerReach? {
        let path = "/cluster/reaches?node=\(other.id)&incarnation=\(other.incarnation)"
        let reach = Guarded<PeerReach?>(nil)
        _ = await get(PeerReach.self, path, node, within: limit) { answer in
            reach.withLock { $0 = answer }
            return .silent
        }
        return reach.withLock { $0 }
    }

    private func get<Answer: Decodable>(
        _ type: Answer.Type, _ path: String, _ node: NodeRecord, within limit: Duration, _ take: (Answer) -> PeerAnswer
    ) async -> PeerAnswer {
        do {
            var request = try HTTPClient.Request(url: node.url + path)
            for header in headers(node) { request.headers.add(name: header.name, value: header.value) }
            let answer = try await client.send(request, within: limit, answerBytes: Self.answerBytes)
            if let why = answer.refusal { return .rejected(why) }
            guard answer.status == .ok else { return .silent }
            return take(try JSONDecoder().decode(type, from: answer.body))
        } catch let error as IOError {
            return error.errnoCode == ECONNREFUSED ? .refused : .silent
        } catch let error as NIOConnectionError {
            let codes = error.connectionErrors.map { ($0.error as? IOError)?.errnoCode }
            return !codes.isEmpty && codes.allSatisfy { $0 == ECONNREFUSED } ? .refused : .silent
        } catch let error as NIOSSLError {
            return .rejected("TLS fails (cluster.tls): \("\(error)".prefix(200))")
        } catch {
            return .silent
        }
    }

    package func shutdown() async { try? await client.shutdown() }
}
