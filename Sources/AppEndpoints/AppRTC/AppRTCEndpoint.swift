package import Admission
package import Basics
import Conference
import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Settings
import Threads
package import WebServer

/// The endpoint of AppRTC's web, Android and iOS clients: their room server by HTTP, and their signalling server
/// (Collider) by WebSocket and HTTP.
///
/// The server is the other client of every call: each client is the initiator and offers, and gets its answer over the
/// WebSocket.
package final class AppRTCEndpoint: AppEndpoint {
    private let joins: JoinService
    private let iceServers: ICEServers
    private let limits: TesseraConfiguration.Limits
    /// Whether addresses name their room, by which any node finds its owner.
    private let namesRooms: Bool
    /// The Android app's requests send this origin, whatever its server is; the site is shut down.
    package static let appOrigins = Set([WebOrigin("https://appr.tc")].compactMap { $0 })
    /// Its WebSocket library (autobanh.jar) sends one of its own.
    private static let socketOrigins = appOrigins.union([WebOrigin("https://www.google.com")].compactMap { $0 })

    private let clients = AppRTCClients(at: MonotonicClock.now())
    private let seatWaits = AppRTCSeatWaits()
    private let connections = OpenClients<AppRTCConnection>()

    package init(_ services: AppServices) {
        joins = services.joins
        iceServers = services.iceServers
        limits = services.configuration.limits
        namesRooms = services.cluster != nil
    }

    // MARK: The endpoint among others

    package func addRoutes(to table: inout RouteTable) { table.addAppRTC(self) }

    package var sockets: [RoomSocket] {
        [
            RoomSocket(
                WebSocketEndpoint(
                    pattern: .path("/ws"), appOrigins: Self.socketOrigins, maxMessageBytes: limits.messageBytes,
                    oversized: { _ in String(buffer: AppRTCFrame.error(.unreadable("too long")).buffer) },
                    serve: { [self] in await serve($0) }),
                placement: .byMessage(.reads) { AppRTCCommand.room(in: $0.bytes) })
        ]
    }

    package var samples: [MetricSample] {
        [
            MetricSample(
                "tessera_apprtc_clients", "AppRTC clients with a seat, or about to get one.", .gauge,
                Double(clients.count)),
            MetricSample(
                "tessera_apprtc_connections", "WebSockets of AppRTC clients.", .gauge,
                Double(connections.count)),
            MetricSample(
                "tessera_apprtc_unknown_ids_total", "Requests with an id that no AppRTC client has.", .counter,
                Double(clients.unknownCount)),
        ] + seatWaits.samples
    }

    package func announcement(at server: PublicAddress) -> String {
        "AppRTC (doors.appRTC): room server URL \(server.http("")), signalling at \(server.webSocket("/ws"))"
    }

    /// Closes the WebSockets of clients that have no seat. The seats end with their rooms.
    package func drain() {
        seatWaits.drain()
        for served in connections.all where served.client == nil { served.drain() }
    }

    // MARK: The room server

    /// `GET /params`: the iOS app asks for these before it joins.
    package func parameters(_ asked: RouteRequest) -> Response { .json(parameters(asked, key: "", room: nil).json) }

    private func parameters(_ asked: RouteRequest, key: String, room: String?) -> AppRTCParameters {
        let address = asked.publicAddress
        let place = room.map { "&room=\(PublicAddress.segment($0))" } ?? ""
        return AppRTCParameters(
            addresses: AppRTCParameters.Addresses(
                webSocket: address.webSocket("/ws"), post: address.http("/collider"),
                iceServers: address.http("/v1alpha/iceconfig?key=\(key)\(place)")),
            switches: AppRTCParameters.Switches(
                relaysOnly: asked.query("it") == "relay",
                turnTransport: asked.query("tt").flatMap { ["udp", "tcp"].contains($0) ? $0 : nil } ?? "",
                hasAudio: asked.query("audio") != "false", hasVideo: asked.query("video") != "false"))
    }

    /// `POST /join/{room}`: takes a seat for a new client.
    ///
    /// The web app appends its own query, so that `?name=` and `?token=` of its page come here.
    package func join(_ asked: RouteRequest) async -> Response {
        do {
            return .json(try await seated(asked))
        } catch {
            return .json(AppRTCResult.refused(Refusal(any: error)))
        }
    }

    private func seated(_ asked: RouteRequest) async throws(Refusal) -> JSONValue {
        let name = AppRTCRoomName(asked.parameter("room"))
        guard Names.isRoom(name.room) else { throw Refusal(.badMessage, "a room's id is \(Names.roomRule)") }
        let client = clients.add(room: name.text, address: asked.source.client, at: MonotonicClock.now())
        var request = joins.request(
            room: name.room, name: asked.query("name").flatMap { Names.shown($0) } ?? Self.guestName(),
            from: asked.source.client)
        request.pin = asked.query("pin") ?? name.pin
        do throws(Refusal) {
            try await join(request, token: asked.bearer ?? asked.query("token"), client)
        } catch {
            clients.remove(client)
            throw error
        }
        return parameters(asked, key: client.key, room: namesRooms ? name.room : nil).joined(
            AppRTCParameters.Client(id: client.id, room: name.text, link: link(to: name, asked)))
    }

    /// A name for who gives none. Its digits come from no secret: everybody sees them.
    private static func guestName() -> String { "Guest \(Int.random(in: 1000...9999))" }

    /// Joins for a client. Returns when the client has its seat, or waits to be let in: then the seat follows, and the
    /// answer to the client's offer with it.
    private func join(_ request: JoinRequest, token: String?, _ client: AppRTCClient) async throws(Refusal) {
        let (outcomes, outcome) = AsyncStream<Refusal?>.makeStream()
        client.joining.begin { [joins, weak self] in
            do throws(Refusal) {
                let seat = try await joins.joinWhenLetIn(request, as: .appRTC, token: token) {
                    client.waits()
                    outcome.yield(nil)
                } events: { [weak client] shared in
                    client?.step { $0.handleEvent(shared.event, at: MonotonicClock.now()) }
                }
                guard let held = client.take(seat) else {
                    seat.withdraw()
                    throw Refusal(.conflict, "the call has ended")
                }
                self?.seatWaits.seated(seat.id, at: client.address)
                outcome.yield(nil)
                for message in held { try? await self?.perform(message, seat, client) }
            } catch {
                outcome.yield(error)
                client.step { $0.refused() }
            }
        }
        if let refusal = await outcomes.first(where: { _ in true }) ?? nil { throw refusal }
    }

    /// The page of a room. A web app at another address gets a page of its own site: it puts the link into its address
    /// bar (`history.pushState`), which its browser refuses for every other origin, and then does not start the call.
    /// The link has the query of the page, so that a reload joins under the same name, with the same token and PIN.
    private func link(to name: AppRTCRoomName, _ asked: RouteRequest) -> String {
        let query = asked.request.uri.query.map { $0.isEmpty ? "" : "?\($0)" } ?? ""
        guard let text = asked.headers[.origin], let origin = WebOrigin(text), !Self.appOrigins.contains(origin) else {
            return asked.publicAddress.http("/r/\(PublicAddress.segment(name.room))\(query)")
        }
        return "\(text)/r/\(PublicAddress.segment(name.text))\(query)"
    }

    /// `POST /message/{room}/{client}`: an offer, a candidate, or `bye`.
    package func message(_ asked: RouteRequest) async -> Response {
        guard let client = client(asked) else { return .json(AppRTCResult.unknownClient.json) }
        do {
            try await handle(try await asked.body(upTo: limits.messageBytes), of: client)
            return .json(AppRTCResult.success.json)
        } catch {
            return .json((client.seat == nil ? AppRTCResult.unknownClient : .error).json)
        }
    }

    /// `POST /leave/{room}/{client}`: the client has ended its call. The answer is empty, for unknown clients too.
    package func leave(_ asked: RouteRequest) -> Response {
        client(asked)?.step { $0.left() }
        return Response(status: .ok)
    }

    /// The longest life of TURN credentials for a client of this family, which has no session that could end them.
    private static let longestCredentials = Duration.seconds(3600)

    /// `POST /v1alpha/iceconfig?key=KEY`: the STUN servers, and for a client with a seat the TURN servers with
    /// credentials.
    package func iceServers(_ asked: RouteRequest) async -> Response {
        let life = min(iceServers.configuration.turn.ttl, Self.longestCredentials)
        let user = iceServers.configuration.turn.urls.isEmpty ? nil : await turnUser(asked)
        let entries =
            user.map { iceServers.entries(for: $0, now: Int(Date().timeIntervalSince1970), life: life) }
            ?? iceServers.entriesWithoutCredentials
        return .json([
            "lifetimeDuration": .string("\(Int(life.inSeconds))s"), "iceServers": .array(entries.map(\.json)),
        ])
    }

    /// For whom TURN credentials are; nil: for nobody. The name is no secret, since STUN messages show it.
    ///
    /// The key in a client's `ice_server_url` proves its seat. The web and iOS clients ask without one, before they have
    /// joined: they get credentials with a token for a room, or in mode `open` with a client of their address that has
    /// a seat, for which the answer waits. In a cluster only the room's node knows its seats.
    private func turnUser(_ asked: RouteRequest) async -> String? {
        let address = asked.source.client
        if let key = asked.query("key"), !key.isEmpty {
            return clients.find(key: key, from: address, at: MonotonicClock.now())?.seat?.id
        }
        if let token = asked.bearer ?? asked.query("token"), let room = asked.query("room") {
            return (try? joins.admit(JoinRequest(room: room, name: ""), token: token)) == nil ? nil : "guest"
        }
        guard !joins.needsTokens, !namesRooms || asked.query("room") != nil else { return nil }
        return await seatWaits.seat(at: address) { clients.seat(at: address) }
    }

    private func client(_ asked: RouteRequest) -> AppRTCClient? {
        clients.find(
            asked.parameter("client"), in: asked.parameter("room"), from: asked.source.client, at: MonotonicClock.now())
    }

    // MARK: The signalling server

    /// `POST /collider/{room}/{client}`: a message of a client whose WebSocket is not open.
    package func post(_ asked: RouteRequest) async -> Response {
        do {
            let body = try await asked.body(upTo: limits.messageBytes)
            guard let client = client(asked) else {
                // The web app says `bye` here if its WebSocket has closed after `/leave`.
                let isBye = try AppRTCMessage(body, sdpLimit: limits.sdpBytes) == .bye
                return isBye ? .text("OK\n") : failure(AppRTCFault.notRegistered.text)
            }
            try await handle(body, of: client)
            return .text("OK\n")
        } catch {
            return failure(AppRTCFault.unreadable(Refusal(any: error).message).text)
        }
    }

    /// `DELETE /collider/{room}/{client}`: the client has ended its call.
    package func delete(_ asked: RouteRequest) -> Response {
        client(asked)?.step { $0.left() }
        return .text("OK\n")
    }

    private func failure(_ text: String) -> Response { .text(text + "\n", status: .internalServerError) }

    /// Serves one WebSocket until it ends.
    package func serve(_ connection: WebSocketConnection) async {
        let served = connections.add { AppRTCConnection(number: $0, connection, at: MonotonicClock.now()) }
        await connection.run { [self] message in await receive(message, served) }
        connections.remove(served.number)
        served.client?.step { $0.socketClosed(at: MonotonicClock.now()) }
    }

    private func receive(_ message: WebSocketConnection.Message, _ served: AppRTCConnection) async {
        guard served.takesMessage(at: MonotonicClock.now()) else { return await served.pause() }
        do {
            switch try AppRTCCommand(message.bytes, isRegistered: served.client != nil) {
            case .register(let room, let id):
                let address = served.connection.handshake.remote
                guard let client = clients.find(id, in: room, from: address, at: MonotonicClock.now()) else {
                    throw AppRTCFault.noSeat
                }
                try client.register(served.connection)
                served.registered(client)
            case .send(let text):
                guard let client = served.client else { return }
                try await handle(Array(text.utf8), of: client)
            }
        } catch let fault as AppRTCFault {
            served.report(fault, isFatal: fault.isFatal, at: MonotonicClock.now())
        } catch {
            let fault = AppRTCFault.unreadable(Refusal(any: error).message)
            served.report(fault, isFatal: false, at: MonotonicClock.now())
        }
    }

    // MARK: Messages

    /// Handles a client's message, whichever way it came. Returns when the answer to an offer is on its way.
    private func handle(_ bytes: [UInt8], of client: AppRTCClient) async throws {
        let message = try AppRTCMessage(bytes, sdpLimit: limits.sdpBytes)
        switch message {
        case .offer, .candidate:
            if client.hold(message) { return }
            if let seat = client.seat { try await perform(message, seat, client) }
        case .bye: client.step { $0.left() }
        case .other: break
        }
    }

    /// Answers an offer, or takes a candidate.
    private func perform(
        _ message: AppRTCMessage, _ seat: any ConferenceSeat, _ client: AppRTCClient
    ) async throws(ConferenceError) {
        switch message {
        case .offer(let sdp):
            let answer = try await seat.offer(sdp)
            client.step { $0.answered(answer.text) }
        case .candidate(let line): seat.addCandidate(line)
        case .bye, .other: break
        }
    }
}
