import AsyncHTTPClient
import Basics
import Cluster
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// The client side of the internal listeners: requests by HTTP/1.1, and what WebSockets need of TLS.
final class PeerClient: Sendable {
    /// What a node answers, or why it does not.
    enum Outcome: Sendable {
        case answer(HTTPClientResponse)
        /// Nothing listens there.
        case refused
        /// No answer in time, or a connection that broke.
        case unanswered
        /// Bytes that are no HTTP, or a refused token.
        case rubbish(String)
    }

    /// Of one node: as many as it has connections for, since streams and waiting requests hold theirs.
    private static let connectionsPerNode = 4096

    private let client: HTTPClient
    /// nil: the nodes speak plain HTTP.
    let tls: NIOSSLContext?
    private let timing: ClusterFront.Timing

    init(_ settings: ClusterSettings.TLS, timing: ClusterFront.Timing) throws(ConfigurationFaults) {
        self.timing = timing
        let tls: TLSConfiguration
        do { tls = try settings.client() } catch { throw ConfigurationFaults(error) }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow, decompression: .disabled)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.connectionsPerNode
        // Shorter than `ConnectionGuard` keeps idle connections.
        configuration.connectionPool.idleTimeout = .seconds(10)
        // A refused connection means something here (`ClusterDirectory.ownerIsGone`).
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = TimeAmount(timing.connect)
        configuration.timeout.read = TimeAmount(timing.silence)
        // Whatever throws comes before the client, which must not end unless it is shut down.
        do {
            self.tls = settings.certificate.isEmpty ? nil : try NIOSSLContext(configuration: tls)
        } catch {
            throw ConfigurationFaults("cluster.tls.certificate", settings.certificate, "\(error)")
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func shutdown() async { try? await client.shutdown() }

    /// Sends a request. The answer's body follows by and by.
    ///
    /// - Parameter limit: the time until the answer's head.
    func send(_ request: HTTPClientRequest, within limit: Duration? = nil) async -> Outcome {
        do {
            let deadline = NIODeadline.now() + TimeAmount(limit ?? timing.answer)
            let answer = try await client.execute(request, deadline: deadline)
            if answer.headers.contains(name: NodeHeaders.refused) {
                return .rubbish(
                    "it refuses this node's token: cluster.secret differs, or the clocks differ by more than \(Int(NodeToken.life)) s"
                )
            }
            return .answer(answer)
        } catch {
            return Self.outcome(of: error)
        }
    }

    static func outcome(of error: any Error) -> Outcome {
        switch error {
        case let error as IOError: return error.errnoCode == ECONNREFUSED ? .refused : .unanswered
        case let error as NIOConnectionError:
            let codes = error.connectionErrors.map { ($0.error as? IOError)?.errnoCode }
            return !codes.isEmpty && codes.allSatisfy { $0 == ECONNREFUSED } ? .refused : .unanswered
        case is HTTPParserError: return .rubbish("its answer is no HTTP")
        case let error as NIOSSLError: return .rubbish("its TLS fails (cluster.tls): \("\(error)".prefix(200))")
        default: return .unanswered
        }
    }
}
