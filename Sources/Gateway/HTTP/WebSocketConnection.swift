import Basics
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOWebSocket
import Synchronization

/// One WebSocket (RFC 6455) from the server's side: whole messages in and out, pings, and the end of silent
/// connections.
final class WebSocketConnection: Sendable {
    enum Message: Sendable, Equatable {
        case text(String)
        case binary([UInt8])

        /// The content, for protocols that read text and binary frames alike.
        var bytes: [UInt8] {
            switch self {
            case .text(let text): Array(text.utf8)
            case .binary(let bytes): bytes
            }
        }

        /// In bytes.
        var count: Int {
            switch self {
            case .text(let text): text.utf8.count
            case .binary(let bytes): bytes.count
            }
        }
    }

    /// The handshake's data, and callbacks to the connection's guard and gate.
    struct Handshake: Sendable {
        var uri: String
        /// The address whose limits apply.
        var remote: IPAddress?
        var headers: HTTPHeaders
        /// Called when the client enters a room, which changes its limits.
        var enteredRoom: @Sendable (_ isInside: Bool) -> Void
        /// Counts the server's reason to end the connection.
        var count: @Sendable (ConnectionGate.Ending) -> Void

        init(
            uri: String, remote: IPAddress?, headers: HTTPHeaders,
            enteredRoom: @escaping @Sendable (_ isInside: Bool) -> Void,
            count: @escaping @Sendable (ConnectionGate.Ending) -> Void
        ) {
            self.uri = uri
            self.remote = remote
            self.headers = headers
            self.enteredRoom = enteredRoom
            self.count = count
        }
    }

    let handshake: Handshake
    private let channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
    private let outbox: Guarded<Outbox>
    /// Wakes the writer when the outbox has messages.
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    private let lastReceived: Guarded<ContinuousClock.Instant>

    /// Pings go out this often.
    static let pingInterval = Duration.seconds(15)
    /// A client that sends nothing for this long is gone; answers to pings count.
    static let silenceLimit = Duration.seconds(30)
    /// See `WebSocketEndpoint`.
    private let outsideLimit: Duration?

    private let hasJoined = Atomic(false)

    init(
        _ channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>, handshake: Handshake, maxOutboxBytes: Int,
        outsideLimit: Duration?
    ) {
        self.channel = channel
        self.handshake = handshake
        self.outsideLimit = outsideLimit
        outbox = Guarded(Outbox(maxBytes: maxOutboxBytes))
        lastReceived = Guarded(.now)
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Queues a message; never waits. A message with a `state` replaces a waiting one of the same kind, and is then
    /// sent as `fullState`.
    func send(_ text: ByteBuffer, _ state: Outbox.State? = nil, fullState: (() -> ByteBuffer)? = nil) {
        enqueue(.text(text), state, fullState: fullState.map { fullState in { .text(fullState()) } })
    }

    /// Queues a binary message; never waits.
    func send(binary data: ByteBuffer) { enqueue(.binary(data)) }

    /// The bytes of queued messages that have not been written yet.
    var waitingBytes: Int { outbox.withLock { $0.bytes } }

    /// Queues a close frame behind all waiting messages, then ends the connection.
    func close(_ code: UInt16, _ reason: String) { enqueue(.close(code, reason)) }

    /// Notes that the client is in a room, which lifts the limits of outside clients.
    func enteredRoom() {
        hasJoined.store(true, ordering: .relaxed)
        handshake.enteredRoom(true)
    }

    /// Lifts the limit of the time outside of rooms: the client waits to be let in.
    func mayStayOutside() { hasJoined.store(true, ordering: .relaxed) }

    private func enqueue(
        _ message: Outbox.Message, _ state: Outbox.State? = nil, fullState: (() -> Outbox.Message)? = nil
    ) {
        guard outbox.withLock({ $0.add(message, state, fullState: fullState) }) else {
            // The client reads too slowly, so a close frame would not reach it: the connection just ends.
            handshake.count(.stalled)
            channel.channel.close(promise: nil)
            return
        }
        wakeUp.yield()
    }

    /// Reads until the connection ends and passes each message to `receive`, one after the other.
    func run(_ receive: @escaping @Sendable (Message) async -> Void) async {
        do {
            try await channel.executeThenClose { inbound, outbound in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { [self] in
                        try? await write(outbound)
                        // The reader ends with the connection: after the server's close frame a client has two seconds
                        // for its own.
                        if !Task.isCancelled {
                            try? await Task.sleep(for: .seconds(2))
                            channel.channel.close(promise: nil)
                        }
                    }
                    group.addTask { [self] in await watchLiveness() }
                    group.addTask { [self] in try? await read(inbound, receive) }
                    // Each of the three closes the channel before it ends. The channel may still be active then; who waited
                    // for that would learn of a client's end only with the next ping.
                    await withTaskCancellationHandler {
                        _ = await group.next()
                    } onCancel: {
                        channel.channel.close(promise: nil)
                    }
                    wakeUp.finish()
                    group.cancelAll()
                }
            }
        } catch {
            // A broken connection counts as ended.
        }
        wakeUp.finish()
    }

    private func read(
        _ inbound: NIOAsyncChannelInboundStream<WebSocketFrame>, _ receive: @Sendable (Message) async -> Void
    ) async throws {
        defer { channel.channel.close(promise: nil) }
        for try await frame in inbound {
            lastReceived.withLock { $0 = .now }
            // RFC 6455 §5.1: a client masks. NIO lets unmasked frames pass.
            guard frame.maskKey != nil else {
                close(1002, "frames must be masked")
                return await drainUntilClosed()
            }
            let data = frame.unmaskedData
            switch frame.opcode {
            case .text:
                let bytes = Array(data.readableBytesView)
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    close(1007, "text must be UTF-8")
                    return await drainUntilClosed()
                }
                await receive(.text(text))
            case .binary:
                await receive(.binary(Array(data.readableBytesView)))
            case .ping:
                enqueue(.pong(data))
            case .connectionClose:
                var payload = data
                let code = payload.readInteger(as: UInt16.self) ?? 1000
                // Echoes only codes that may be sent (RFC 6455 §7.4).
                close(
                    (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
                        ? code : 1002, "")
                return await drainUntilClosed()
            default:
                break
            }
        }
    }

    /// Gives the writer time for the close frame before the reader's end closes the socket.
    private func drainUntilClosed() async {
        try? await Task.sleep(for: .milliseconds(250))
    }

    private func write(_ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>) async throws {
        for await _ in wakeUps {
            while let message = outbox.withLock({ $0.next() }) {
                if try await write(message, outbound) { return }
            }
        }
    }

    /// Returns whether that was the last message.
    private func write(_ message: Outbox.Message, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>)
        async throws -> Bool
    {
        switch message {
        case .text(let text):
            try await outbound.write(WebSocketFrame(fin: true, opcode: .text, data: text))
        case .binary(let data):
            try await outbound.write(WebSocketFrame(fin: true, opcode: .binary, data: data))
        case .ping:
            try await outbound.write(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer()))
        case .pong(let data):
            try await outbound.write(WebSocketFrame(fin: true, opcode: .pong, data: data))
        case .close(let code, let reason):
            var payload = ByteBuffer()
            payload.writeInteger(code)
            // RFC 6455 §5.5: at most 125 bytes in total.
            payload.writeString(String(reason.prefix(60)))
            try await outbound.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: payload))
            return true
        }
        return false
    }

    private func watchLiveness() async {
        var nextPing = ContinuousClock.now + WebSocketConnection.pingInterval
        let outsideEnd = outsideLimit.map { ContinuousClock.now + $0 }
        while !Task.isCancelled, channel.channel.isActive {
            let end = lastReceived.withLock { $0 } + WebSocketConnection.silenceLimit
            do { try await Task.sleep(until: min(nextPing, end), clock: .continuous) } catch { return }
            let now = ContinuousClock.now
            if lastReceived.withLock({ $0 }).duration(to: now) >= WebSocketConnection.silenceLimit {
                channel.channel.close(promise: nil)
                return
            }
            if let outsideEnd, now >= outsideEnd, !hasJoined.load(ordering: .relaxed) {
                handshake.count(.unjoined)
                channel.channel.close(promise: nil)
                return
            }
            if now >= nextPing {
                nextPing = now + WebSocketConnection.pingInterval
                enqueue(.ping)
            }
        }
    }
}
