package import Admission
package import Basics
import Conference
import HTTPTypes
import Hummingbird
import NIOCore
import Settings
import Threads
package import WebServer

/// The endpoint for FLSocketIM's apps: Socket.IO 2 over Engine.IO 3, with REST for their accounts.
package final class SocketIOEndpoint: AppEndpoint {
    /// A picture of the largest size in base64, with its event.
    package static let maxBodyBytes = 16 << 20

    private let sessions: SocketIOSessions
    private let login: SocketIOLogin
    private let events: SocketIOEvents
    private let accountRoutes: SocketIOAccountRoutes

    package init(_ services: AppServices) {
        let doors = services.configuration.doors
        let sessions = SocketIOSessions()
        let accounts = Accounts(AccountFile(directory: doors.directory), logger: services.logger) { [weak sessions] in
            sessions?.isOnline($0) ?? false
        }
        self.sessions = sessions
        login = SocketIOLogin(services.joins, accounts: accounts)
        let uploads = SocketIOUploads()
        let chat = SocketIOChat(sessions, pictures: services.joins.conference.pictures, uploads: uploads)
        let calls = SocketIOCalls(
            sessions, joins: services.joins, sdpLimit: services.configuration.limits.sdpBytes,
            cluster: services.cluster
        ) { client, seat, message in
            chat.said(message, in: seat, to: client)
        } onNotice: { client, room, text in
            chat.tell(client, text, from: room)
        }
        events = SocketIOEvents(sessions, calls: calls, chat: chat)
        accountRoutes = SocketIOAccountRoutes(
            login: login, sessions: sessions, conference: services.joins.conference, uploads: uploads)
        services.cluster?.onLoss(of: Names.socketIOFamily) { [sessions] in sessions.endAll(.draining) }
    }

    // MARK: AppEndpoint

    package func addRoutes(to table: inout RouteTable) {
        table.add(
            Route(
                .get, "/socket.io/", .endpoint,
                RouteDescription(
                    tag: "doors", summary: "A handshake, or the waiting packets of a session (Engine.IO 3, polling)",
                    parameters: [.query("auth_token", "From POST /mobileLogin."), .query("sid", "The session.")],
                    answers: [.file("The packets.", "text/plain")], failures: [400, 403, 429, 503]),
                placement: .socketIOFamily
            ) { [self] asked in try await answer(asked) { try await get($0, asked) } })
        table.add(
            Route(
                .post, "/socket.io/", .endpoint,
                RouteDescription(
                    tag: "doors", summary: "Packets of a client (Engine.IO 3, polling)",
                    parameters: [.query("sid", "The session.")], body: ("text/plain", Schema.string),
                    answers: [.file("`ok`", "text/plain")], failures: [400, 413, 429, 503]),
                bodyLimit: SocketIOEndpoint.maxBodyBytes, placement: .socketIOFamily
            ) { [self] asked in try await answer(asked) { try await post($0, asked) } })
        accountRoutes.add(to: &table)
        accountRoutes.addUploads(to: &table)
    }

    package var sockets: [RoomSocket] {
        ["/socket.io/", "/socket.io"].map { path in
            RoomSocket(
                WebSocketEndpoint(
                    pattern: .path(path), maxMessageBytes: SocketIOEndpoint.maxBodyBytes,
                    maxOutboxBytes: EngineSession.maxBytes
                ) { [self] in await serve($0) },
                placement: .singleton(Names.socketIOFamily))
        }
    }

    package var samples: [MetricSample] { sessions.samples + events.samples }

    package func announcement(at server: PublicAddress) -> String {
        "FLSocketIM (doors.socketIO): BaseUrl \(server.http(""))"
    }

    package func drain() { sessions.endAll(.draining) }

    // MARK: Polling

    private func answer(
        _ asked: RouteRequest, _ body: (EngineRequest) async throws -> Response
    ) async throws -> Response {
        do {
            return try await body(try EngineRequest(uri: asked.request.uri.string))
        } catch let fault as EngineRequest.Fault {
            return Response.json(fault.json, status: fault == .forbidden ? .forbidden : .badRequest)
        }
    }

    private func get(_ request: EngineRequest, _ asked: RouteRequest) async throws -> Response {
        // An upgrade that no endpoint took is no poll.
        guard request.transport == .polling else { throw EngineRequest.Fault.badRequest }
        guard let id = request.session else { return try await shakeHands(request, asked) }
        guard let client = sessions.client(id) else { throw EngineRequest.Fault.unknownSession }
        let packets = await client.poll(at: MonotonicClock.now()) { sessions.finish($0, client) }
        guard let packets else { throw EngineRequest.Fault.badRequest }
        return payload(packets, request)
    }

    private func shakeHands(_ request: EngineRequest, _ asked: RouteRequest) async throws -> Response {
        guard let identity = await login.identity(ofToken: request.token) else { throw EngineRequest.Fault.forbidden }
        guard let client = sessions.open(identity, from: asked.source.client, isPolling: true) else {
            throw APIError(.overloaded, "too many sessions of Socket.IO clients: try again in a minute")
        }
        return payload(SocketIOEndpoint.welcome(client), request)
    }

    /// The first packets of a session: the handshake, and Socket.IO's CONNECT, for which a client of version 2 does not
    /// ask.
    private static func welcome(_ client: SocketIOClient) -> [EnginePacket] {
        let handshake: JSONValue = [
            "sid": .string(client.id), "upgrades": ["websocket"],
            "pingInterval": .integer(Int(EngineSession.pingInterval.inSeconds * 1000)),
            "pingTimeout": .integer(Int(EngineSession.pingTimeout.inSeconds * 1000)),
        ]
        return [
            EnginePacket(.open, String(decoding: handshake.bytes, as: UTF8.self)),
            EnginePacket(.message, SocketPacket(.connect).text),
        ]
    }

    private func payload(_ packets: [EnginePacket], _ request: EngineRequest) -> Response {
        let pieces = EnginePieces(packets, isText: request.wantsText)
        return Response(
            status: .ok,
            headers: [
                .contentType: request.wantsText ? "text/plain; charset=UTF-8" : "application/octet-stream",
                .cacheControl: "no-store",
            ],
            body: ResponseBody(contentLength: pieces.count) { writer in
                // The packets hold their places in the budget until the client has them.
                for piece in pieces { try await writer.write(piece) }
                try await writer.finish(nil)
            })
    }

    private func post(_ request: EngineRequest, _ asked: RouteRequest) async throws -> Response {
        guard let id = request.session else { throw EngineRequest.Fault.badHandshakeMethod }
        guard let client = sessions.client(id) else { throw EngineRequest.Fault.unknownSession }
        let body = try await asked.body(upTo: SocketIOEndpoint.maxBodyBytes)
        let packets: [EnginePacket]
        do {
            let isOctets = mediaType(asked.headers[.contentType]) == "application/octet-stream"
            packets = try isOctets ? EnginePayload.decode(octets: body) : EnginePayload.decode(text: body)
        } catch {
            sessions.end(client, .malformed)
            throw EngineRequest.Fault.badRequest
        }
        await events.handle(sessions.step(client) { $0.posted(packets, at: MonotonicClock.now()) }, client)
        return Response(
            status: .ok, headers: [.contentType: "text/html", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: "ok")))
    }

    // MARK: WebSocket

    private func serve(_ connection: WebSocketConnection) async {
        do {
            let request = try EngineRequest(uri: connection.handshake.uri)
            guard request.transport == .websocket else { throw EngineRequest.Fault.badRequest }
            let (client, socket) = try await client(request, connection)
            connection.wentInside()
            await connection.run { [self] message in await receive(message, socket, client) }
            sessions.finish(client.closed(socket), client)
        } catch {
            let fault = error as? EngineRequest.Fault ?? .badRequest
            // The handshake has been answered already, so the reason goes into the close frame.
            connection.close(1008, fault.message)
            await connection.run { _ in }
        }
    }

    /// The session of a WebSocket: a known one, which it probes, or a new one.
    private func client(_ request: EngineRequest, _ connection: WebSocketConnection) async throws -> (
        SocketIOClient, EngineSession.Socket
    ) {
        let now = MonotonicClock.now()
        if let id = request.session {
            guard let client = sessions.client(id) else { throw EngineRequest.Fault.unknownSession }
            return (client, client.open(connection, isProbe: true, at: now))
        }
        guard let identity = await login.identity(ofToken: request.token),
            let client = sessions.open(identity, from: connection.handshake.remote, isPolling: false)
        else { throw EngineRequest.Fault.forbidden }
        let socket = client.open(connection, isProbe: false, at: now)
        sessions.step(client) { _ in SocketIOEndpoint.welcome(client).map { .send($0, socket) } }
        return (client, socket)
    }

    private func receive(
        _ message: WebSocketConnection.Message, _ socket: EngineSession.Socket, _ client: SocketIOClient
    ) async {
        let packet: EnginePacket
        do throws(EngineFault) {
            switch message {
            case .text(let text): packet = try EnginePacket(frame: text)
            case .binary(let bytes): packet = try EnginePacket(frame: bytes)
            }
        } catch {
            return sessions.end(client, .malformed)
        }
        let messages = sessions.step(client) { $0.received(packet, on: socket, at: MonotonicClock.now()) }
        await events.handle(messages, client)
    }
}

extension Placement {
    /// The server that has all accounts, chats and sessions of the family: one among all servers.
    package static let socketIOFamily = Placement.singleton(Names.socketIOFamily)
}
