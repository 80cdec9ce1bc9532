package import Admission
package import Basics
import Conference
import FoundationEssentials
import Logging
package import NIOCore
import Settings
import Threads
package import WebServer

/// The endpoint of the raw TCP clients: connects each session with its connection and the conference.
package final class RawTCPEndpoint: AppEndpoint, ByteEndpoint {
    private struct State {
        var seats = RawTCPSeats()
        var faults: [RawTCPFault: Int] = [:]
    }

    private let joins: JoinService
    private let room: String
    private let limits: TesseraConfiguration.Limits
    private let logger: Logger
    private let listen: Endpoint?
    /// A stranger may send invalid bytes again and again.
    private let faultLines = LogAllowance(perSecond: 1, atOnce: 10, at: MonotonicClock.now())
    private let clients = OpenClients<RawTCPConnection>()
    private let state = Guarded(State())

    package init(_ services: AppServices) {
        let doors = services.configuration.doors
        joins = services.joins
        room = doors.rawTCPRoom.isEmpty ? "lobby" : doors.rawTCPRoom
        limits = services.configuration.limits
        logger = services.logger
        listen = doors.rawTCP
        if joins.needsTokens {
            logger.warning(
                "auth.mode is token, and the published raw TCP app sends none: only apps that add \"token\" to login_req's detail_info can join by doors.rawTCP"
            )
        }
    }

    package func announcement(at server: PublicAddress) -> String {
        let address = listen.map { listen in
            let isAny = IPAddress(listen.host)?.isUnspecified ?? false
            return Endpoint(host: isAny ? "localhost" : listen.host, port: listen.port).description
        }
        return "raw TCP (SwiftProject): SocketConfig's host and port are \(address ?? "unset"), for room \(room)"
    }

    package func maximumSegment(of channel: any Channel) async -> Int? {
        await RawTCPConnection.maximumSegment(of: channel)
    }

    package func lastBytes(for refusal: Refusal) -> ByteBuffer? {
        RawTCPFrame.encode(RawTCPReply.over(reason: refusal.code.rawValue).json(to: 0)).map { ByteBuffer(bytes: $0) }
    }

    package func serve(
        _ channel: ByteClient.Channel, from address: IPAddress?, segment: Int? = nil,
        entered: @escaping @Sendable () -> Void
    ) async {
        let client = clients.add { number in
            RawTCPConnection(
                id: number, address: address, channel: channel,
                session: RawTCPSession(sdpLimit: limits.sdpBytes, at: MonotonicClock.now()), segment: segment,
                entered: entered)
        }
        let fault = await client.run(maxJSON: min(limits.messageBytes, RawTCPFrame.maxJSON)) { [self] actions in
            await perform(actions, client)
        }
        if let fault { count(fault, client) }
        await client.joining.end()
        await perform(client.step { session, _ in session.disconnected() }, client)
        clients.remove(client.id)
    }

    private func count(_ fault: RawTCPFault, _ client: RawTCPConnection) {
        state.withLock { $0.faults[fault, default: 0] += 1 }
        guard let suppressed = faultLines.take(at: MonotonicClock.now()) else { return }
        var metadata: Logger.Metadata = ["fault": "\(fault.rawValue)"]
        if let address = client.address { metadata["address"] = "\(address)" }
        if suppressed > 0 { metadata["suppressed"] = "\(suppressed)" }
        logger.info("a raw TCP connection ended: its bytes are no frames of the protocol", metadata: metadata)
    }

    /// Ends the connections of all clients without a seat; the others end with their rooms.
    package func drain() {
        for client in clients.all where client.seat == nil {
            _ = client.step { $0.left(.draining, at: $1) }
        }
    }

    package var samples: [MetricSample] {
        let faults = state.withLock { $0.faults }
        return [MetricSample("tessera_raw_tcp_connections", "Open raw TCP connections.", .gauge, Double(clients.count))]
            + RawTCPFault.allCases.map { fault in
                MetricSample(
                    "tessera_raw_tcp_faults_total", "Raw TCP connections that ended for bytes out of protocol.",
                    .counter, Double(faults[fault] ?? 0), labels: ["fault": fault.rawValue])
            }
    }

    // MARK: Actions of the session

    private func perform(_ actions: [RawTCPSession.Action], _ client: RawTCPConnection) async {
        for action in actions {
            switch action {
            // Heartbeats are answered meanwhile: a moderator may take minutes to let the client in.
            case .join(let login): client.joining.begin { [weak self] in await self?.join(login, client) }
            case .makeOffer(let restartsICE): await makeOffer(restartsICE: restartsICE, client)
            case .accept(let sdp): await accept(sdp, client)
            case .candidate(let line): client.seat?.addCandidate(line)
            case .leave(let reason): client.seat?.leave(reason)
            case .lost:
                if state.withLock({ $0.seats.release(client.peer, client.id) }) { client.seat?.signallingLost() }
            }
        }
    }

    private func join(_ login: RawTCPMessage.Login, _ client: RawTCPConnection) async {
        do {
            let now = MonotonicClock.now()
            let claim = state.withLock {
                $0.seats.claim(login.source, by: client.id) { clients[$0]?.silence(at: now) ?? RawTCPSeats.stale }
            }
            switch claim {
            case .again(let seat, let old): try await resume(seat, as: login.source, old: old, client, login)
            case .new: try await enter(login, client)
            }
        } catch {
            await perform(client.step { $0.refused(Refusal(any: error), at: $1) }, client)
        }
    }

    /// The room that a login asks for.
    package func room(of login: RawTCPMessage.Login) -> String { Names.composed(login.room ?? room) }

    private func resume(
        _ claim: ResumeClaim, as peer: Int, old: UInt64?, _ client: RawTCPConnection, _ login: RawTCPMessage.Login
    ) async throws {
        let seat: any ConferenceSeat
        do {
            seat = try joins.conference.seats.seat(resuming: claim) { [weak self] event in self?.handle(event, of: peer)
            }
        } catch {
            // The seat has just ended.
            _ = state.withLock { $0.seats.end(peer) }
            return try await enter(login, client)
        }
        if let old = old.flatMap({ clients[$0] }) {
            _ = old.step { $0.left(.replaced, at: $1) }
        }
        client.take(seat)
        await perform(client.step { $0.joined(as: peer, isAgain: true, at: $1) }, client)
    }

    private func enter(_ login: RawTCPMessage.Login, _ client: RawTCPConnection) async throws(Refusal) {
        let room = room(of: login)
        guard Names.isRoom(room) else { throw Refusal(.badMessage, "room: \(Names.roomRule)") }
        let key = EarlyEndGuard<Int>()
        let name = login.name.flatMap { Names.shown($0) }
        var request = joins.request(room: room, name: name ?? "peer-\(client.id + 2)", from: client.address)
        // The app cannot begin a new DTLS association, so that a seat whose media has ended has no use any more.
        request.endsWithMedia = true
        request.media.videoCodecs = [.h264, .vp8]
        request.media.isCompactOffer = true
        request.chatsByAppChannel()
        // The app comes back by itself, with the id that it had.
        let wanted = RawTCPSeats.newID()
        let ids = [wanted, login.source].filter { RawTCPReply.clientIDs.contains($0) }
        request.client.device = JoinClient.Device(Set(ids.map { "tcp \($0)" }), isRefused: true, comesBack: true)
        let seat = try await joins.joinWhenLetIn(request, as: .rawTCP, token: login.token) { [weak self] event in
            if case .left(let reason) = event.event, let peer = key.end(reason) { self?.ended(peer, reason) }
        }
        let peer = state.withLock { state in
            state.seats.add(ResumeClaim(id: seat.id, secret: seat.resumeSecret), as: wanted, holder: client.id)
        }
        let end = key.know(peer)
        client.take(seat)
        await perform(client.step { $0.joined(as: peer, isAgain: false, at: $1) }, client)
        if let end { ended(peer, end) }
    }

    private func handle(_ event: SharedEvent, of peer: Int) {
        if case .left(let reason) = event.event { ended(peer, reason) }
    }

    /// The seat has ended: its client gets a last frame, and the connection ends.
    private func ended(_ peer: Int, _ reason: LeaveReason) {
        let client = state.withLock { $0.seats.end(peer) }.flatMap { clients[$0] }
        _ = client?.step { $0.left(reason, at: $1) }
    }

    private func makeOffer(restartsICE: Bool, _ client: RawTCPConnection) async {
        guard let seat = client.seat else { return }
        do {
            let offer = try await seat.makeOffer(restartsICE: restartsICE)
            let json = RawTCPOfferSize.json(
                offer: offer, to: client.peer, maximumSegment: await client.maximumSegment())
            await perform(client.step { $0.offered(json, at: $1) }, client)
        } catch {
            await perform(client.step { $0.refused(Refusal(any: error), at: $1) }, client)
        }
    }

    private func accept(_ sdp: String, _ client: RawTCPConnection) async {
        guard let seat = client.seat else { return }
        do {
            let peer = client.peer
            guard state.withLock({ $0.seats.answers(peer, client.id, DTLSFingerprints(of: sdp)) }) else {
                throw Refusal(.unauthorized, "the answer is of another client than that of the seat")
            }
            try await seat.accept(answer: sdp)
            await perform(client.step { $0.accepted(at: $1) }, client)
        } catch {
            await perform(client.step { $0.refused(Refusal(any: error), at: $1) }, client)
        }
    }
}
