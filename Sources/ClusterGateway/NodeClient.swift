import AsyncHTTPClient
import Basics
import Cluster
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Settings

/// The client side of the internal listeners: requests by HTTP/1.1, and what WebSockets need of TLS.
package final class NodeClient: Sendable {
    /// What a node answers, or why it does not.
    enum Outcome: Sendable {
        case answer(HTTPClientResponse)
        /// Nothing listens there.
        case refused
        /// No answer in time, or a connection that broke.
        case unanswered
        /// Bytes that are no HTTP, or a refused token.
        case invalidAnswer(String)
        /// The process has ended meanwhile, as the store says.
        case gone
    }

    /// Of one node: as many as it has connections for, since streams and waiting requests hold theirs.
    private static let connectionsPerNode = 4096

    /// The connections to one process of a node: they end together, with all that waits for an answer by them.
    private final class ProcessClient: Sendable {
        let client: HTTPClient
        let isGone = Guarded(false)
        init(_ client: HTTPClient) { self.client = client }
    }

    private struct State {
        /// By the nodes' incarnations.
        var clients: [String: ProcessClient] = [:]
        var isShutDown = false
    }

    private let configuration: HTTPClient.Configuration
    /// nil: the nodes speak plain HTTP.
    let tls: NIOSSLContext?
    private let timing: ClusterFront.Timing
    private let state = Guarded(State())

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
        self.configuration = configuration
        do {
            self.tls = settings.certificate.isEmpty ? nil : try NIOSSLContext(configuration: tls)
        } catch {
            throw ConfigurationFaults("cluster.tls.certificate", settings.certificate, "\(error)")
        }
    }

    func shutdown() async {
        let clients = state.withLock { state in
            state.isShutDown = true
            defer { state.clients = [:] }
            return Array(state.clients.values)
        }
        for node in clients { try? await node.client.shutdown() }
    }

    /// Ends all that waits for a process that is gone: requests without an answer, and answers that are not complete. A
    /// connection to a host that has lost its power would say nothing for a minute.
    func nodeIsGone(_ node: NodeRecord) {
        guard let gone = state.withLock({ $0.clients.removeValue(forKey: node.incarnation) }) else { return }
        gone.isGone.withLock { $0 = true }
        Task { try? await gone.client.shutdown() }
    }

    /// nil: the node ends.
    private func client(of node: NodeRecord) -> ProcessClient? {
        state.withLock { state in
            if let known = state.clients[node.incarnation] { return known }
            if state.isShutDown { return nil }
            let new = ProcessClient(HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration))
            state.clients[node.incarnation] = new
            return new
        }
    }

    /// Sends a request to a node. The answer's body is read after its head, in parts.
    ///
    /// - Parameter limit: the time until the answer's head.
    func send(_ request: HTTPClientRequest, to node: NodeRecord, within limit: Duration? = nil) async -> Outcome {
        guard let known = client(of: node) else { return .unanswered }
        do {
            let deadline = NIODeadline.now() + TimeAmount(limit ?? timing.answer)
            let answer = try await known.client.execute(request, deadline: deadline)
            if let why = answer.headers.first(name: NodeHeaders.refused) {
                return .invalidAnswer(PeerRefusal.explanation(why))
            }
            return .answer(answer)
        } catch {
            return known.isGone.withLock { $0 } ? .gone : Self.outcome(of: error)
        }
    }

    static func outcome(of error: any Error) -> Outcome {
        switch error {
        case let error as IOError: return error.errnoCode == ECONNREFUSED ? .refused : .unanswered
        case let error as NIOConnectionError:
            let codes = error.connectionErrors.map { ($0.error as? IOError)?.errnoCode }
            return !codes.isEmpty && codes.allSatisfy { $0 == ECONNREFUSED } ? .refused : .unanswered
        case is HTTPParserError: return .invalidAnswer("its answer is no HTTP")
        case let error as NIOSSLError: return .invalidAnswer("its TLS fails (cluster.tls): \("\(error)".prefix(200))")
        default: return .unanswered
        }
    }
}
