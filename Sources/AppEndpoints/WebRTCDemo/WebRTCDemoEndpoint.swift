package import Admission
package import Basics
import Conference
import NIOCore
import Settings
import Threads
package import WebServer

/// The endpoint of the WebRTC demo's clients: connects each session with its WebSocket and the conference.
package final class WebRTCDemoEndpoint: AppEndpoint {
    private let joins: JoinService
    private let statistics: JoinCounts
    private let defaultRoom: String
    private let limits: TesseraConfiguration.Limits
    private let clients = OpenClients<WebRTCDemoConnection>()
    private let seats = Guarded(WebRTCDemoSeats<any ConferenceSeat>())

    /// How long an offer waits for the end of the connection that holds its client's seat: a socket whose network is
    /// gone ends within `WebSocketConnection.silenceLimit`, and so would this one.
    private static let holdLimit = Duration.seconds(25)
    private static let holdStep = Duration.milliseconds(250)
    /// The app opens its socket when it starts; its user may take minutes to send an offer.
    private static let outsideLimit = Duration.seconds(600)

    package init(_ services: AppServices) {
        joins = services.joins
        statistics = services.statistics
        defaultRoom = services.configuration.doors.webrtcDemoRoom
        limits = services.configuration.limits
    }

    package var sockets: [RoomSocket] {
        [
            RoomSocket(
                WebSocketEndpoint(
                    pattern: .room, maxMessageBytes: limits.messageBytes, outsideLimit: Self.outsideLimit,
                    serve: { [weak self] in await self?.serve($0) }),
                placement: .byPath { [defaultRoom] in WebRTCDemoTarget(uri: $0, defaultRoom: defaultRoom).room },
                entry: { [defaultRoom] door, uri, _, room throws(Refusal) in
                    try door.check(room, token: WebRTCDemoTarget(uri: uri, defaultRoom: defaultRoom).token, secret: nil)
                })
        ]
    }

    package func announcement(at server: PublicAddress) -> String {
        "WebRTC demo (iOS): Config.swift's signaling server is \(server.webSocket("/")) for room \(defaultRoom), or \(server.webSocket("/ROOM?name=NAME"))"
    }

    package var samples: [MetricSample] {
        [
            MetricSample(
                "tessera_webrtc_demo_connections", "Open connections of WebRTC demo clients.", .gauge,
                Double(clients.count)),
            MetricSample(
                "tessera_webrtc_demo_seats", "Seats of WebRTC demo clients, with and without a connection.", .gauge,
                Double(seats.withLock { $0.count })),
        ]
    }

    package func drain() {
        for client in clients.all { _ = client.step { $0.drained() } }
    }

    // MARK: One client

    private func serve(_ connection: WebSocketConnection) async {
        statistics.connectionOpened()
        defer { statistics.connectionClosed() }
        let target = WebRTCDemoTarget(uri: connection.handshake.uri, defaultRoom: defaultRoom)
        let client = clients.add { number in
            WebRTCDemoConnection(
                id: number, connection: connection, target: target,
                session: WebRTCDemoSession(sdpLimit: limits.sdpBytes))
        }
        let pace = Guarded(MessageRateLimiter(at: MonotonicClock.now()))
        await connection.run { [self] message in
            statistics.countMessage(isBad: false)
            await perform(client.step { $0.received(message.bytes) }, client)
            let pause = pace.withLock { $0.pause(after: message.count, at: MonotonicClock.now()) }
            if pause > .zero { try? await Task.sleep(for: pause) }
        }
        await client.joining.end()
        seats.withLock { $0.release(client.id) }
        clients.remove(client.id)
    }

    private func perform(_ actions: [WebRTCDemoSession.Action], _ client: WebRTCDemoConnection) async {
        for action in actions {
            switch action {
            // `WebRTCDemoConnection.step` has done these already, in one order with the conference's events.
            case .send, .close: break
            // The socket is read on meanwhile: a client that waits to be let in may go away.
            case .join(let offer): client.joining.begin { [weak self] in await self?.join(offer, client) }
            case .offer(let sdp): await answer(sdp, client)
            case .candidate(let line): seat(of: client)?.addCandidate(line)
            }
        }
    }

    private func seat(of client: WebRTCDemoConnection) -> (any ConferenceSeat)? {
        seats.withLock { $0.seat(of: client.id) }
    }

    private func join(_ offer: String, _ client: WebRTCDemoConnection) async {
        do {
            let (seat, isNew) = try await takeSeat(DTLSFingerprints(of: offer), client)
            client.connection.wentInside()
            _ = client.step { session in
                session.joined()
                return []
            }
            do {
                let answer = try await seat.offer(offer)
                await perform(client.step { $0.answered(answer.text) }, client)
            } catch {
                _ = client.step { $0.refused(Refusal(any: error)) }
                if isNew { seat.withdraw() } else { seats.withLock { $0.release(client.id) } }
            }
        } catch {
            _ = client.step { $0.refused(error) }
        }
    }

    /// Takes the seat of the client's earlier connection, or a new one.
    private func takeSeat(
        _ fingerprints: DTLSFingerprints, _ client: WebRTCDemoConnection
    ) async throws(Refusal) -> (any ConferenceSeat, isNew: Bool) {
        let end = MonotonicClock.now() + Self.holdLimit
        while true {
            let claim = seats.withLock { $0.claim(client.target.room, fingerprints, by: client.id) }
            switch claim {
            case .again(let seat): return (seat, false)
            case .new: return (try await enter(fingerprints, client), true)
            case .held:
                guard MonotonicClock.now() < end, !Task.isCancelled else {
                    throw Refusal(.overloaded, "another connection holds this client's seat")
                }
                try? await Task.sleep(for: Self.holdStep)
            }
        }
    }

    private func enter(
        _ fingerprints: DTLSFingerprints, _ client: WebRTCDemoConnection
    ) async throws(Refusal) -> any ConferenceSeat {
        let target = client.target
        var request = joins.request(
            room: target.room, name: target.name ?? freeName(in: target.room),
            from: client.connection.handshake.remote)
        // The app opens another socket when it has lost one, and says nothing there: only ICE shows that it is gone.
        (request.hasSignalling, request.endsWithMedia) = (false, true)
        request.pin = target.pin
        // After a removal the app offers from the same peer connection.
        request.client.device = JoinClient.Device(Set(fingerprints.values.map { "dtls \($0)" }), isRefused: true)
        request.chatsByAppChannel()
        let key = EarlyEndGuard<UInt64>()
        let seat = try await joins.joinWhenLetIn(request, as: .webRTCDemo, token: target.token) {
            client.connection.mayStayOutside()
        } events: { [weak self] event in
            if case .left(let reason) = event.event, let number = key.end(reason) { self?.ended(number, reason) }
        }
        let number = seats.withLock { $0.add(seat, target.room, fingerprints, holder: client.id) }
        if let reason = key.know(number) { ended(number, reason) }
        return seat
    }

    /// "iPhone 1", or the next one of which nobody is in the room.
    private func freeName(in room: String) -> String {
        let taken = Set((joins.conference.rooms.room(room)?.participants ?? []).map(\.name))
        return (1...).lazy.map { "iPhone \($0)" }.first { !taken.contains($0) } ?? "iPhone"
    }

    /// The seat has ended. Called on a thread of the conference.
    private func ended(_ number: UInt64, _ reason: LeaveReason) {
        let client = seats.withLock { $0.end(number) }.flatMap { clients[$0] }
        _ = client?.step { $0.left(reason) }
    }

    /// Answers a later offer. A refusal leaves the call as it is: the app has no message for it.
    private func answer(_ offer: String, _ client: WebRTCDemoConnection) async {
        guard let seat = seat(of: client), let answer = try? await seat.offer(offer) else { return }
        seats.withLock { $0.renew(DTLSFingerprints(of: offer), of: client.id) }
        await perform(client.step { $0.answered(answer.text) }, client)
    }
}

/// One connection's session behind a lock. Its frames are queued on the connection while the lock is held, so that
/// they leave in the order in which they occurred.
final class WebRTCDemoConnection: Sendable {
    let id: UInt64
    let connection: WebSocketConnection
    let target: WebRTCDemoTarget
    private let session: Guarded<WebRTCDemoSession>
    let joining = JoinTask()

    init(id: UInt64, connection: WebSocketConnection, target: WebRTCDemoTarget, session: WebRTCDemoSession) {
        self.id = id
        self.connection = connection
        self.target = target
        self.session = Guarded(session)
    }

    /// Runs a step of the session and sends its frames. Returns all actions; the caller performs the others.
    func step(_ step: (inout WebRTCDemoSession) -> [WebRTCDemoSession.Action]) -> [WebRTCDemoSession.Action] {
        session.withLock { session in
            let actions = step(&session)
            for action in actions {
                switch action {
                case .send(let bytes): connection.send(binary: ByteBuffer(bytes: bytes))
                case .close(let code, let reason): connection.close(code.rawValue, reason)
                case .join, .offer, .candidate: break
                }
            }
            return actions
        }
    }
}
