package import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// The client side of `/signal`: JSON objects in WebSocket text frames, in both directions.
package struct SignallingClient {
    private enum Upgrade {
        case websocket(NIOAsyncChannel<WebSocketFrame, WebSocketFrame>)
        case refused
    }

    /// The messages that a headless participant handles: its seat, the SDP answer, the participants of the room, and
    /// why it was removed.
    enum Message: Equatable, Sendable {
        /// `isFresh`: the server has no media of this seat yet.
        case joined(CallSession.Ticket, isFresh: Bool, RoomPeople.Update)
        case answer(String)
        /// A moderator has to let the participant in.
        case waiting
        case people(RoomPeople.Update)
        case left(reason: String)
        /// The room moves to another server; this one ends the call within so many seconds.
        case moving(within: Int)
        /// `retryAfter` is the number of seconds until a retry; nil where the server does not give one.
        case error(code: String, message: String, fatal: Bool, retryAfter: Int?)
        case other(String)

        init(json: Data) {
            let object = JSONObject.members(of: json)
            let text = { (key: String) in object[key] as? String ?? "" }
            switch text("type") {
            case "joined":
                let you = object["you"] as? [String: Any]
                let ticket = CallSession.Ticket(
                    id: you?["id"] as? String ?? "",
                    secret: (you?["resume"] as? [String: Any])?["secret"] as? String ?? "")
                self = .joined(
                    ticket, isFresh: object["fresh"] as? Bool ?? false,
                    RoomPeople.Update(object) ?? .whole([], viewers: 0))
            case "answer": self = .answer(text("sdp"))
            // With `people` it tells a moderator who waits.
            case "waiting" where object["people"] == nil: self = .waiting
            case "left": self = .left(reason: text("reason"))
            case "moving": self = .moving(within: Int(max(1, min(JSONObject.number(object["within"]) ?? 1, 3600))))
            case "error":
                self = .error(
                    code: text("code"), message: text("message"), fatal: object["fatal"] as? Bool ?? false,
                    retryAfter: object["retryAfter"] as? Int)
            case let type: self = RoomPeople.Update(object).map { .people($0) } ?? .other(type)
            }
        }
    }

    /// Sends one object.
    package struct Sender: Sendable {
        fileprivate let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>

        package func send(_ object: [String: any Sendable]) async throws {
            try await write(.text, JSONObject.bytes(of: object))
        }

        fileprivate func write(_ opcode: WebSocketOpcode, _ bytes: [UInt8]) async throws {
            let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: ByteBuffer(bytes: bytes))
            try await outbound.write(frame)
        }
    }

    /// Connects, runs `body` with the received messages, and closes when it returns.
    ///
    /// - Parameters:
    ///   - decode: converts one text frame to a message.
    ///   - answersPings: while it returns false, the client behaves like a machine that lost its power: the connection
    ///     stays open, and pings are not answered.
    package static func withConnection<Message: Sendable>(
        to address: SignallingAddress, decode: @escaping @Sendable (Data) -> Message,
        answersPings: @escaping @Sendable () -> Bool = { true },
        body: (AsyncStream<Message>, Sender) async throws -> Void
    ) async throws {
        let upgrade: EventLoopFuture<Upgrade>
        do {
            upgrade = try await ClientBootstrap(group: NIOSingletons.posixEventLoopGroup)
                .connectTimeout(.seconds(10))
                .connect(host: address.host, port: address.port) { channel in
                    channel.eventLoop.makeCompletedFuture { try configure(channel, address) }
                }
        } catch {
            throw ConnectionFault(error, at: address)
        }
        let result: Upgrade
        do {
            result = try await upgrade.get()
        } catch {
            throw ConnectionFault(error, at: address)
        }
        guard case .websocket(let channel) = result else {
            throw CallError(
                "\(address.host):\(address.port) has no signalling at \(address.path): check that it is a Tessera server"
            )
        }
        do {
            try await exchange(on: channel, decode: decode, answersPings: answersPings, body: body)
        } catch  where error is IOError || error is ChannelError || error is NIOSSLError {
            throw ConnectionFault(lost: error, host: address.host, port: address.port)
        }
    }

    private static func exchange<Message: Sendable>(
        on channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>, decode: @escaping @Sendable (Data) -> Message,
        answersPings: @escaping @Sendable () -> Bool, body: (AsyncStream<Message>, Sender) async throws -> Void
    ) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Message.self, bufferingPolicy: .bufferingNewest(256))
        try await channel.executeThenClose { inbound, outbound in
            let sender = Sender(outbound: outbound)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { continuation.finish() }
                    for try await frame in inbound {
                        switch frame.opcode {
                        case .text: continuation.yield(decode(Data(frame.unmaskedData.readableBytesView)))
                        case .ping where answersPings():
                            try await sender.write(.pong, Array(frame.unmaskedData.readableBytesView))
                        case .connectionClose: return
                        default: break
                        }
                    }
                }
                try await body(stream, sender)
                try? await sender.write(.connectionClose, [0x03, 0xE8])
                group.cancelAll()
            }
        }
    }

    private static func configure(_ channel: any Channel, _ address: SignallingAddress) throws -> EventLoopFuture<
        Upgrade
    > {
        if address.isSecure {
            var configuration = TLSConfiguration.makeClientConfiguration()
            // The certificate of a server on this machine is often one that it has signed itself.
            if address.isHere { configuration.certificateVerification = .none }
            let context = try NIOSSLContext(configuration: configuration)
            let name =
                address.host.contains(":") || address.host.allSatisfy { $0.isNumber || $0 == "." } ? nil : address.host
            try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: context, serverHostname: name))
        }
        let upgrader = NIOTypedWebSocketClientUpgrader<Upgrade>(maxFrameSize: 1 << 20) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64, maxAccumulatedFrameSize: 1 << 20))
                return .websocket(try NIOAsyncChannel(wrappingChannelSynchronously: channel))
            }
        }
        var headers = HTTPHeaders()
        headers.add(name: "Host", value: "\(address.host):\(address.port)")
        headers.add(name: "User-Agent", value: "tessera-call")
        headers.add(name: "Content-Length", value: "0")
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.path, headers: headers)
        let configuration = NIOTypedHTTPClientUpgradeConfiguration(upgradeRequestHead: head, upgraders: [upgrader]) {
            channel in
            channel.eventLoop.makeSucceededFuture(.refused)
        }
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: .init(upgradeConfiguration: configuration))
    }
}

extension ConnectionFault {
    fileprivate init(_ error: any Error, at address: SignallingAddress) {
        self.init(error, host: address.host, port: address.port, isSecure: address.isSecure)
    }
}
