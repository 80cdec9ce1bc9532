import AsyncHTTPClient
import Basics
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

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
        status: HTTPResponseStatus, body: Data
    ) {
        let answer = try await execute(
            request: request, delegate: ResponseAccumulator(request: request, maxBodySize: answerBytes),
            deadline: .now() + .nanoseconds(limit.nanoseconds)
        ).get()
        return (answer.status, Data((answer.body?.readableBytesView).map { [UInt8]($0) } ?? []))
    }
}

extension ClusterSettings.TLS {
    /// How this node reaches etcd and other nodes by TLS.
    func client() throws(ClusterFault) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        do {
            if !authority.isEmpty {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authority))
            }
        } catch {
            throw ClusterFault(
                key: "cluster.tls.authority", value: authority,
                what: "cannot be read as certificates in PEM (\(error)); name a file that has them")
        }
        guard !certificate.isEmpty, !key.isEmpty else { return configuration }
        do {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) }
        } catch {
            throw ClusterFault(
                key: "cluster.tls.certificate", value: certificate,
                what: "cannot be read as a certificate in PEM (\(error)); name a file that has one")
        }
        do {
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
        } catch {
            throw ClusterFault(
                key: "cluster.tls.key", value: key,
                what: "cannot be read as a key in PEM (\(error)); name a file that has one")
        }
        return configuration
    }
}
