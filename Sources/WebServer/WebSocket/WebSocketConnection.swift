package import Basics
import HTTPTypes
package import NIOCore
package import NIOHTTP1
package import NIOWebSocket
import Synchronization
import Threads

/// One WebSocket (RFC 6455) from the server's side: whole messages in and out, pings, and the end of silent
/// connections.
package final class WebSocketConnection: Sendable {
    package enum Message: Sendable, Equatable {
        case text(String)
        case binary([UInt8])

        /// The content, for protocols that read text and binary frames alike.
        package var bytes: [UInt8] {
            switch self {
            case .text(let text): Array(text.utf8)
            case .binary(let bytes): bytes
            }
        }

        /// In bytes.
        package var count: Int {
            switch self {
            case .text(let text): text.utf8.count
            case .binary(let bytes): bytes.count
            }
        }
    }

    /// The handshake's data, and callbacks to the connection's guard and gate.
    package struct Handshake: Sendable {
        package var uri: String
        /// The address whose limits apply.
        package var remote: IPAddress?
        package var headers: HTTPHeaders
        /// The address by which the client reaches this server.
        package var address: PublicAddress
        /// The other end is a node of the cluster, which a client has reached.
        var isOfNode: Bool
        /// Called when the client enters a room, which changes its limits.
        package var wentInside: @Sendable (_ isInside: Bool) -> Void
        /// Counts the server's reason to end the connection.
        package var count: @Sendable (ConnectionGate.Ending) -> Void

        package init(
            uri: String, remote: IPAddress?, headers: HTTPHeaders, address: PublicAddress, isOfNode: Bool = false,
            wentInside: @escaping @Sendable (_ isInside: Bool) -> Void,
            count: @escaping @Sendable (ConnectionGate.Ending) -> Void
        ) {
            self.uri = uri
            self.remote = remote
            self.headers = headers
            self.address = address
            self.isOfNode = isOfNode
            self.wentInside = wentInside
            self.count = count
        }
    }

    package let handshake: Handshake
    private let way: Way
    private let outbox: Guarded<Outbox>
    /// Wakes the writer when the outbox has messages.
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    private let lastReceived: Guarded<Instant>

    /// Pings go out this often.
    package static let pingInterval = Duration.seconds(15)
    /// A client that sends nothing for this long is gone; answers to pings count.
    package static let silenceLimit = Duration.seconds(30)
    /// See `WebSocketEndpoint`.
    private let outsideLimit: Duration?

    private let hasJoined = Atomic(false)
    /// The client waits to be let in.
    private let mayStay = Atomic(false)
    /// Yields when the outbox has become shorter, for whoever passes on another connection's messages.
    private let drains: AsyncStream<Void>
    private let drained: AsyncStream<Void>.Continuation
    /// The code of the client's close frame.
    private let clientsCode = Guarded<UInt16?>(nil)

    private enum Way: Sendable {
        case channel(NIOAsyncChannel<WebSocketFrame, WebSocketFrame>)
        /// The messages come from another connection's reader, and leave by its writer.
        case part(of: WebSocketConnection, SocketMailbox)
    }

    /// A connection's messages for one endpoint among several, from now until `detach`.
    package init(partOf whole: WebSocketConnection) {
        way = .part(of: whole, SocketMailbox())
        handshake = whole.handshake
        outsideLimit = nil
        outbox = Guarded(Outbox(maxBytes: 0))
        lastReceived = Guarded(MonotonicClock.now())
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (drains, drained) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package init(
        _ channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>, handshake: Handshake, maxOutboxBytes: Int,
        outsideLimit: Duration?
    ) {
        way = .channel(channel)
        self.handshake = handshake
        self.outsideLimit = outsideLimit
        outbox = Guarded(Outbox(maxBytes: maxOutboxBytes))
        lastReceived = Guarded(MonotonicClock.now())
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (drains, drained) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Passes a message to the endpoint of a part of a connection. Returns when the endpoint has taken it.
    package func deliver(_ message: Message) async {
        if case .part(_, let mailbox) = way { await mailbox.deliver(message) }
    }

    /// Ends a part of a connection: its endpoint sees the end of the connection, and can send no more.
    package func detach() {
        if case .part(_, let mailbox) = way { mailbox.close() }
    }

    /// Queues a message of another connection. Returns when there is room for the next one.
    package func relay(_ message: Outbox.Message) async {
        enqueue(message)
        guard outbox.withLock({ $0.isOverHighWater }) else { return }
        for await _ in drains where !outbox.withLock({ $0.isOverHighWater }) { return }
    }

    /// The code of the client's close frame; nil where it sent none.
    package var closeCode: UInt16? { clientsCode.withLock { $0 } }

    /// Ends the connection without a close frame.
    package func end() {
        switch way {
        case .channel(let channel): channel.channel.close(promise: nil)
        case .part(let whole, let mailbox): if !mailbox.isClosed { whole.end() }
        }
    }

    package var isInside: Bool {
        if case .part(let whole, _) = way { return whole.isInside }
        return hasJoined.load(ordering: .relaxed)
    }

    /// Queues a message; never waits. A message with a `state` replaces a waiting one of the same kind, and is then
    /// sent as `fullState`.
    package func send(_ text: ByteBuffer, _ state: Outbox.State? = nil, fullState: (() -> ByteBuffer)? = nil) {
        enqueue(.text(text), state, fullState: fullState.map { fullState in { .text(fullState()) } })
    }

    /// Queues a binary message; never waits.
    package func send(binary data: ByteBuffer) { enqueue(.binary(data)) }

    /// The bytes of queued messages that have not been written yet.
    package var waitingBytes: Int {
        if case .part(let whole, _) = way { return whole.waitingBytes }
        return outbox.withLock { $0.bytes }
    }

    /// Tells the node at the other end; nothing where that is a client.
    package func tell(_ notice: SocketNotice) { if handshake.isOfNode { enqueue(.notice(notice)) } }

    /// Queues a close frame behind all waiting messages, then ends the connection.
    package func close(_ code: UInt16, _ reason: String) { enqueue(.close(code, reason)) }

    /// Notes that the client is in a room, which lifts the limits of outside clients.
    package func wentInside() {
        if case .part(let whole, let mailbox) = way { return mailbox.isClosed ? () : whole.wentInside() }
        tell(.inside)
        hasJoined.store(true, ordering: .relaxed)
        handshake.wentInside(true)
    }

    /// Lifts the limit of the time outside of rooms: the client waits to be let in.
    package func mayStayOutside() {
        if case .part(let whole, let mailbox) = way { return mailbox.isClosed ? () : whole.mayStayOutside() }
        tell(.waits)
        mayStay.store(true, ordering: .relaxed)
    }

    private func enqueue(
        _ message: Outbox.Message, _ state: Outbox.State? = nil, fullState: (() -> Outbox.Message)? = nil
    ) {
        if case .part(let whole, let mailbox) = way {
            return mailbox.isClosed ? () : whole.enqueue(message, state, fullState: fullState)
        }
        guard outbox.withLock({ $0.add(message, state, fullState: fullState) }) else {
            // The client reads too slowly, so a close frame would not reach it: the connection just ends.
            handshake.count(.stalled)
            return end()
        }
        wakeUp.yield()
    }

    /// Reads until the connection ends and passes each message to `receive`, one after the other.
    package func run(_ receive: @escaping @Sendable (Message) async -> Void) async {
        switch way {
        case .channel(let channel): await run(channel, receive)
        case .part(_, let mailbox): await mailbox.run(receive)
        }
    }

    private func run(
        _ channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>,
        _ receive: @escaping @Sendable (Message) async -> Void
    ) async {
        defer { drained.finish() }
        do {
            try await channel.executeThenClose { inbound, outbound in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { [self] in
                        try? await write(outbound)
                        // The reader ends with the connection: after the server's close frame a client has two seconds
                        // for its own.
                        if !Task.isCancelled {
                            try? await Task.sleep(for: .seconds(2))
                            end()
                        }
                    }
                    group.addTask { [self] in await watchLiveness(channel.channel) }
                    group.addTask { [self] in try? await read(inbound, receive) }
                    // Each of the three closes the channel before it ends. The channel may still be active then; who waited
                    // for that would learn of a client's end only with the next ping.
                    await withTaskCancellationHandler {
                        _ = await group.next()
                    } onCancel: {
                        end()
                    }
                    drained.finish()
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
        defer { end() }
        for try await frame in inbound {
            lastReceived.withLock { $0 = MonotonicClock.now() }
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
                clientsCode.withLock { $0 = code }
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
                drained.yield()
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
        case .notice(let notice):
            let words = ByteBuffer(string: notice.rawValue)
            try await outbound.write(WebSocketFrame(fin: true, opcode: .ping, data: words))
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

    private func watchLiveness(_ channel: any Channel) async {
        var nextPing = MonotonicClock.now() + WebSocketConnection.pingInterval
        let outsideEnd = outsideLimit.map { MonotonicClock.now() + $0 }
        while !Task.isCancelled, channel.isActive {
            let end = lastReceived.withLock { $0 } + WebSocketConnection.silenceLimit
            do { try await Task.sleep(for: min(nextPing, end) - MonotonicClock.now()) } catch { return }
            let now = MonotonicClock.now()
            if now - lastReceived.withLock({ $0 }) >= WebSocketConnection.silenceLimit {
                return self.end()
            }
            let mayStay = hasJoined.load(ordering: .relaxed) || mayStay.load(ordering: .relaxed)
            if let outsideEnd, now >= outsideEnd, !mayStay {
                handshake.count(.unjoined)
                self.end()
                return
            }
            if now >= nextPing {
                nextPing = now + WebSocketConnection.pingInterval
                enqueue(.ping)
            }
        }
    }
}
