import AsyncHTTPClient
import Basics
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix

extension HTTPClient {
    /// A client for etcd and other nodes: it follows no redirect, and proves itself by the node's certificate where
    /// there is one.
    convenience init(
        cluster tls: ClusterSettings.TLS, connectTimeout: Duration, group: MultiThreadedEventLoopGroup = .singleton
    ) throws(ClusterFault) {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: try tls.client(), redirectConfiguration: .disallow, decompression: .disabled)
        configuration.timeout.connect = .nanoseconds(connectTimeout.nanoseconds)
        configuration.connectionPool.idleTimeout = .seconds(30)
        configuration.connectionPool.retryConnectionEstablishment = false
        self.init(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }
}

extension HTTPClient {
    /// Sends a request. The limit is that of the whole answer. Nothing here needs the cooperative pool, which may be full:
    /// the deadlines of the client's own API for tasks do, and end with the answer's head.
    func send(_ request: Request, within limit: Duration, answerBytes: Int) async throws -> (
        status: HTTPResponseStatus, body: Data, refusal: String?
    ) {
        let answer = try await execute(
            request: request, delegate: ResponseAccumulator(request: request, maxBodySize: answerBytes),
            deadline: .now() + .nanoseconds(limit.nanoseconds)
        ).get()
        return (
            answer.status, Data((answer.body?.readableBytesView).map { [UInt8]($0) } ?? []),
            answer.headers.first(name: PeerRefusal.header).map { PeerRefusal.explanation($0) }
        )
    }
}
