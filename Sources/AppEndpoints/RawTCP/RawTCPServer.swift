package import Admission
package import Basics
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
package import WebServer

/// The listening socket of the raw TCP endpoint. Its connections count as those of HTTP do (`limits.connections`).
package struct RawTCPServer: Service {
    /// A connection that the gate let in; nil: one that it refused.
    private typealias Accepted = ByteClient?

    private let endpoint: RawTCPEndpoint
    private let listening: NIOAsyncChannel<Accepted, Never>
    /// In a cluster: serves a client whose login is read first, here or at another node. nil: there is no cluster.
    private let relay: Relay?

    package typealias Relay = @Sendable (ByteClient) async -> Void

    /// The port; the system's choice where the setting has port 0.
    package var port: Int? { listening.channel.localAddress?.port }

    /// Listens.
    ///
    /// - Throws: `IOError` or `SocketAddressError` for an address that cannot be listened on.
    package init(
        _ endpoint: RawTCPEndpoint, listen: Endpoint, gate: ConnectionGate, relay: Relay? = nil
    ) async throws {
        self.endpoint = endpoint
        self.relay = relay
        let peeks = relay != nil
        listening = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 512)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Frames leave at once: a client takes what it reads at once as one frame.
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: listen.host, port: Int(listen.port)) { channel in
                channel.eventLoop.makeCompletedFuture { try Self.accept(channel, gate, endpoint, peeks: peeks) }
            }
    }

    /// - Parameter peeks: whether the login is read before the client is served.
    private static func accept(
        _ channel: any Channel, _ gate: ConnectionGate, _ endpoint: RawTCPEndpoint, peeks: Bool
    ) throws -> Accepted {
        let address = channel.remoteAddress?.ipAddress.flatMap { IPAddress(withoutZone: $0) }
        let ticket: ConnectionGate.Ticket
        switch gate.open(address, end: { channel.close(promise: nil) }) {
        case .success(let taken): ticket = taken
        case .failure:
            channel.close(promise: nil)
            return nil
        }
        channel.closeFuture.whenComplete { _ in ticket.close() }
        ticket.become(.outside)
        if let options = channel.syncOptions {
            try options.setOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: WebChannel.readBytes))
            try options.setOption(.maxMessagesPerRead, value: 1)
        }
        let connection = ConnectionGuard(ticket, wait: .nothing)
        connection.allow(bytes: ConnectionGuard.outsideBytes)
        try channel.pipeline.syncOperations.addHandler(connection)
        let here = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        let loop = channel.eventLoop
        let login = loop.makePromise(of: RawTCPMessage.Login.self)
        var release: @Sendable () -> Void = {}
        if peeks {
            let peek = RawTCPPeek(login)
            try channel.pipeline.syncOperations.addHandler(peek)
            let held = NIOLoopBound(peek, eventLoop: loop)
            release = { loop.execute { held.value.open() } }
        } else {
            login.succeed(RawTCPMessage.Login())
        }
        return ByteClient(
            channel: try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(
                    backPressureStrategy: NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark(
                        lowWatermark: 1, highWatermark: 4))),
            address: address?.unmapped,
            introduction: login.futureResult.map { .init(room: endpoint.room(of: $0), token: $0.token) },
            release: release,
            entered: {
                ticket.become(.busy)
                loop.execute { here.value.allow(bytes: nil) }
            })
    }

    /// Serves until the server is told to end.
    package func run() async throws {
        await withGracefulShutdownHandler {
            // Only the end of the listening socket ends the sequence.
            try? await listening.executeThenClose { connections in
                await withDiscardingTaskGroup { group in
                    do {
                        for try await accepted in connections {
                            guard let accepted else { continue }
                            group.addTask {
                                if let relay { return await relay(accepted) }
                                await endpoint.serve(
                                    accepted.channel, from: accepted.address, segment: nil, entered: accepted.entered)
                            }
                        }
                    } catch {
                        // The socket is closed.
                    }
                }
            }
        } onGracefulShutdown: {
            listening.channel.close(promise: nil)
        }
    }
}
