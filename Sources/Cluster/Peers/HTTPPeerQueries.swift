import AsyncHTTPClient
import Basics
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

/// Asks nodes by HTTP at their internal listeners.
package final class HTTPPeerQueries: PeerQueries {
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

    package func alive(_ node: NodeRecord, within limit: Duration) async -> AliveAnswer? {
        do {
            var request = try HTTPClient.Request(url: node.url + "/cluster/alive")
            for header in headers(node) { request.headers.add(name: header.name, value: header.value) }
            let answer = try await client.send(request, within: limit, answerBytes: Self.answerBytes)
            guard answer.status == .ok else { return nil }
            let alive = try JSONDecoder().decode(AliveAnswer.self, from: answer.body)
            return alive.node == node.id ? alive : nil
        } catch {
            return nil
        }
    }

    package func shutdown() async { try? await client.shutdown() }
}
