import Basics
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOWebSocket
import Synchronization

/// A path on which clients may talk WebSocket, and who talks with them.
struct WebSocketEndpoint: Sendable {
    /// `/signal`
    var path: String
    /// Whether pages of other origins are turned away.
    var checksOrigin: Bool
    /// What a client is told in a text frame whose message was larger than allowed, before the connection closes with
    /// 1009: it differs for those who are in a room and those who are not.
    var oversized: @Sendable (_ isInside: Bool) -> String?
    /// Runs until the talk is over.
    var serve: @Sendable (WebSocketConnection) async -> Void
}

/// One WebSocket (RFC 6455) from the server's side: whole messages in and out, pings, and an end for the silent.
final class WebSocketConnection: Sendable {
    enum Message: Sendable, Equatable {
        case text(String)
        case binary([UInt8])

        /// In bytes.
        var count: Int {
            switch self {
            case .text(let text): text.utf8.count
            case .binary(let bytes): bytes.count
            }
        }
    }

    /// What came with the handshake.
    struct Handshake: Sendable {
        var uri: String
        /// Whose limits count.
        var remote: IPAddress?
        var headers: HTTPHeaders
        /// Told when the client comes into a room: what it may cost changes.
        var settle: @Sendable (_ isInside: Bool) -> Void
        /// Counts why we ended the connection.
        var count: @Sendable (ConnectionGate.Ending) -> Void

        init(
            uri: String, remote: IPAddress?, headers: HTTPHeaders,
            settle: @escaping @Sendable (_ isInside: Bool) -> Void,
            count: @escaping @Sendable (ConnectionGate.Ending) -> Void
        ) {
            self.uri = uri
            self.remote = remote
            self.headers = headers
            self.settle = settle
            self.count = count
        }
    }

    let handshake: Handshake
    private let channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
    private let outbox = Guarded(Outbox())
    /// Says that something waits in the outbox.
    private let bell: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation
    private let lastHeard: Guarded<ContinuousClock.Instant>

    /// Pings go out this often.
    static let pingInterval = Duration.seconds(15)
    /// A client that is silent for so long has gone; answers to pings count.
    static let silenceLimit = Duration.seconds(30)
    /// A client that is in no room by then has no business here.
    static let outsideLimit = Duration.seconds(30)

    private let isSettled = Atomic(false)

    init(_ channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>, handshake: Handshake) {
        self.channel = channel
        self.handshake = handshake
        lastHeard = Guarded(.now)
        (bell, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Queues a message; never waits. A message with a `state` takes the place of an older one that still waits, and
    /// then says `whole`.
    func send(_ text: ByteBuffer, _ state: Outbox.State? = nil, whole: (() -> ByteBuffer)? = nil) {
        enqueue(.text(text), state, whole: whole.map { whole in { .text(whole()) } })
    }

    /// Says goodbye behind everything that is queued, then ends the connection.
    func close(_ code: UInt16, _ reason: String) { enqueue(.close(code, reason)) }

    /// The client is in a room: it may stay.
    func settle() {
        isSettled.store(true, ordering: .relaxed)
        handshake.settle(true)
    }

    private func enqueue(_ message: Outbox.Message, _ state: Outbox.State? = nil, whole: (() -> Outbox.Message)? = nil)
    {
        guard outbox.withLock({ $0.add(message, state, whole: whole) }) else {
            // Does not read what it is sent. Nothing more would reach it, so the connection just ends.
            handshake.count(.stalled)
            channel.channel.close(promise: nil)
            return
        }
        ring.yield()
    }

    /// Reads until the connection ends and gives each message to `receive`, one after the other.
    func run(_ receive: @escaping @Sendable (Message) async -> Void) async {
        do {
            try await channel.executeThenClose { inbound, outbound in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { [self] in
                        try? await write(outbound)
                        // The reader ends with the connection: after our close a client has two seconds for its own.
                        if !Task.isCancelled {
                            try? await Task.sleep(for: .seconds(2))
                            channel.channel.close(promise: nil)
                        }
                    }
                    group.addTask { [self] in await watch() }
                    group.addTask { [self] in try? await read(inbound, receive) }
                    // The writer and the watchman end on their own only with the connection; the reader knows first.
                    await withTaskCancellationHandler {
                        _ = await group.next()
                        while channel.channel.isActive, await group.next() != nil {}
                    } onCancel: {
                        channel.channel.close(promise: nil)
                    }
                    ring.finish()
                    group.cancelAll()
                }
            }
        } catch {
            // A connection that broke is one that ended.
        }
        ring.finish()
    }

    private func read(
        _ inbound: NIOAsyncChannelInboundStream<WebSocketFrame>, _ receive: @Sendable (Message) async -> Void
    ) async throws {
        defer { channel.channel.close(promise: nil) }
        for try await frame in inbound {
            lastHeard.withLock { $0 = .now }
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
                // Only codes that may be on the wire are echoed (RFC 6455 §7.4).
                close(
                    (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
                        ? code : 1002, "")
                return await drainUntilClosed()
            default:
                break
            }
        }
    }

    /// Lets the writer get the close frame out before the reader's end closes the socket.
    private func drainUntilClosed() async {
        try? await Task.sleep(for: .milliseconds(250))
    }

    private func write(_ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>) async throws {
        for await _ in bell {
            while let message = outbox.withLock({ $0.next() }) {
                if try await write(message, outbound) { return }
            }
        }
    }

    /// Returns whether that was the last.
    private func write(_ message: Outbox.Message, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>)
        async throws -> Bool
    {
        switch message {
        case .text(let text):
            try await outbound.write(WebSocketFrame(fin: true, opcode: .text, data: text))
        case .ping:
            try await outbound.write(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer()))
        case .pong(let data):
            try await outbound.write(WebSocketFrame(fin: true, opcode: .pong, data: data))
        case .close(let code, let reason):
            var payload = ByteBuffer()
            payload.writeInteger(code)
            // RFC 6455 §5.5: at most 125 bytes in all.
            payload.writeString(String(reason.prefix(60)))
            try await outbound.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: payload))
            return true
        }
        return false
    }

    private func watch() async {
        var nextPing = ContinuousClock.now + WebSocketConnection.pingInterval
        let outsideEnd = ContinuousClock.now + WebSocketConnection.outsideLimit
        while !Task.isCancelled, channel.channel.isActive {
            let end = lastHeard.withLock { $0 } + WebSocketConnection.silenceLimit
            do { try await Task.sleep(until: min(nextPing, end), clock: .continuous) } catch { return }
            let now = ContinuousClock.now
            if lastHeard.withLock({ $0 }).duration(to: now) >= WebSocketConnection.silenceLimit {
                channel.channel.close(promise: nil)
                return
            }
            if now >= outsideEnd, !isSettled.load(ordering: .relaxed) {
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
