package import Admission
package import Basics
import Conference
import Cryptography
import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Peer
import Threads
package import WebServer

/// WHIP (RFC 9725) publishes into a room, WHEP (draft-ietf-wish-whep) watches one: HTTP instead of a signalling
/// connection.
package final class WHIPEndpoint: Sendable {
    private struct Session {
        var seat: any MediaSeat
        var path: String
        /// The client's ICE user fragment, by which a restart differs from a trickle.
        var ufrag: String
        /// Counts ICE sessions; the entity tag.
        var generation = 1
        var changes: TokenBucket

        var tag: String { "\"ice-\(generation)\"" }
    }

    private let joins: JoinService
    private let iceServers: ICEServers
    private let sdpLimit: Int
    /// In a cluster this node's id, with which the ids of sessions begin.
    private let node: String?
    private let sessions = Guarded<[String: SessionState]>([:])

    /// The state of a session, from before its join until session and seat have ended: a seat may end at any moment, on
    /// another thread.
    private enum SessionState {
        case starting
        /// The seat ended before its session was running.
        case ended
        case running(Session)
    }

    /// PATCH requests of one session a second, and at once. Clients that trickle send one for a handful of candidates,
    /// a restart is one.
    private static let (changeRate, changeBurst) = (5.0, 20.0)

    package init(_ joins: JoinService, iceServers: ICEServers, sdpLimit: Int, node: String? = nil) {
        self.node = node
        self.joins = joins
        self.iceServers = iceServers
        self.sdpLimit = sdpLimit
    }

    package enum Direction: String, Sendable {
        case whip, whep

        fileprivate var family: ClientFamily { self == .whip ? .whip : .whep }
    }

    // MARK: POST

    /// Joins and answers the offer: 201 with the SDP answer and the session's URL.
    package func start(_ direction: Direction, _ asked: RouteRequest) async throws -> Response {
        let room = try asked.room()
        guard mediaType(asked.headers[.contentType]) == "application/sdp" else {
            throw APIError(
                .unsupportedMediaType, "the body must be an SDP offer with Content-Type: application/sdp",
                headers: [.acceptPost: "application/sdp"])
        }
        guard accepts("application/sdp", asked.headers[values: .accept]) else {
            throw APIError(.notAcceptable, "the answer is application/sdp, which Accept does not allow")
        }
        let offer = String(decoding: try await asked.body(upTo: sdpLimit), as: UTF8.self)
        guard offer.hasPrefix("v=0") else { throw APIError(.badSDP, "the body is no SDP: it must begin with v=0") }
        let screen = direction == .whip ? try asked.query("screen").map { try claim(of: $0, asked) } : nil
        let request =
            screen == nil
            ? try self.request(direction, room, asked)
            : joins.request(room: room, name: "Screen", from: asked.source.client)
        do {
            return try await joins.enter(request, as: direction.family) {
                // The secret of a seat, which is checked with the room, is all that a screen needs.
                screen == nil
                    ? try await admit(request, direction, asked.bearer ?? asked.query("token"))
                    : JoinAuthorizer.admitUnproven(request)
            } join: { request in
                try await enter(request, direction, offer, screen: screen)
            }
        } catch let refusal {
            // RFC 9725 §4.2: the status for a well-formed offer without a common codec.
            throw refusal.code == .noCommonCodec
                ? APIError(refusal.code, refusal.message, status: .notAcceptable) : APIError(refusal)
        }
    }

    /// The proof that the request comes from the participant whose screen it sends: the secret of its seat, alone or as
    /// `ID.SECRET`.
    private func claim(of participant: String, _ asked: RouteRequest) throws(APIError) -> ResumeClaim {
        guard let bearer = asked.bearer else {
            throw APIError(
                .unauthorized,
                "this needs Authorization: Bearer with the secret of joined.you.resume of the participant whose screen it is"
            )
        }
        let secret = bearer.hasPrefix(participant + ".") ? String(bearer.dropFirst(participant.count + 1)) : bearer
        return ResumeClaim(id: participant, secret: secret)
    }

    private func request(_ direction: Direction, _ room: String, _ asked: RouteRequest) throws(APIError) -> JoinRequest
    {
        let fallback = direction == .whip ? "WHIP" : "Viewer"
        guard let name = Names.shown(asked.query("name") ?? fallback) else {
            throw APIError.badRequest("name: 1 to \(Names.allowedLength.upperBound) characters")
        }
        var request = JoinRequest(room: room, name: name)
        // There is no signalling connection whose end would show that the client is gone.
        (request.endsWithMedia, request.hasSignalling) = (true, false)
        request.client.address = asked.source.client
        request.pin = asked.query("pin") ?? joins.pin(inToken: asked.bearer ?? asked.query("token"))
        if direction == .whep {
            request.role = .viewer
            request.kind = .viewer
            request.asParticipant = asked.query("as")
            request.view = asked.query("view")
            request.insistsOnView = true
        }
        return request
    }

    private func admit(_ request: JoinRequest, _ direction: Direction, _ token: String?) async throws -> AdmittedJoin {
        // The token is checked first, so that strangers learn nothing about rooms and participants.
        var admitted = try joins.admit(request, asksRole: direction == .whep, token: token)
        if direction == .whip, admitted.role == .viewer { throw Refusal(.forbidden, "the token allows watching only") }
        guard direction == .whep else { return admitted }
        admitted.becomeViewer()
        // WHEP does not create a room.
        guard let room = joins.conference.rooms.room(request.room) else {
            throw ConferenceError.roomNotFound(request.room)
        }
        if let other = request.asParticipant, !room.participants.contains(where: { $0.id == other }) {
            throw ConferenceError.participantNotFound(other)
        }
        return admitted
    }

    /// - Parameter screen: the seat of the participant whose screen is sent; nil: the session gets a seat of its own.
    private func enter(
        _ request: AdmittedJoin, _ direction: Direction, _ offer: String, screen: ResumeClaim?
    ) async throws(ConferenceError) -> Response {
        let id = (node.map { $0 + "." } ?? "") + Hexadecimal.encode(randomBytes(16))
        sessions.withLock { $0[id] = .starting }
        let seat: any MediaSeat
        do throws(ConferenceError) {
            seat = try take(request, screen) { [weak self] in self?.end(id) }
        } catch {
            removeSession(id)
            throw error
        }
        let answer: SDPAnswer
        do {
            answer = try await seat.offer(offer)
        } catch {
            seat.withdraw()
            removeSession(id)
            throw error
        }
        let path = "/\(direction.rawValue)/\(PublicAddress.segment(request.room))/\(id)"
        let session = Session(
            seat: seat, path: path, ufrag: answer.remoteUfrag,
            changes: TokenBucket(
                rate: WHIPEndpoint.changeRate, size: WHIPEndpoint.changeBurst, at: MonotonicClock.now()))
        // The seat may have ended since its answer: then the session has ended too, before the client gets its URL.
        sessions.withLock { sessions in
            if case .starting = sessions[id] { sessions[id] = .running(session) } else { sessions[id] = nil }
        }
        var headers: HTTPFields = [
            .contentType: "application/sdp", .location: path, .eTag: session.tag, .acceptPatch: SDPFragment.contentType,
            .cacheControl: "no-store",
        ]
        for link in iceServers.links(for: seat.id, now: Int(Date().timeIntervalSince1970)) {
            headers.append(HTTPField(name: .link, value: link))
        }
        return Response(
            status: .created, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: answer.text)))
    }

    private func take(
        _ request: AdmittedJoin, _ screen: ResumeClaim?, ended: @escaping @Sendable () -> Void
    ) throws(ConferenceError) -> any MediaSeat {
        if let screen {
            return try joins.conference.seats.screen(of: screen, in: request.room, for: request.client, ended: ended)
        }
        return try joins.conference.seats.seat(request) { event in if case .left = event.event { ended() } }
    }

    private func end(_ id: String) {
        sessions.withLock { sessions in
            switch sessions[id] {
            case .starting: sessions[id] = .ended
            case .running: sessions[id] = nil
            case .ended, nil: break
            }
        }
    }

    private func removeSession(_ id: String) { sessions.withLock { $0[id] = nil } }

    /// The number of sessions, including those that are starting.
    package var sessionCount: Int { sessions.withLock { $0.count } }

    package var samples: [MetricSample] {
        [MetricSample("tessera_whip_sessions", "Sessions of WHIP and WHEP.", .gauge, Double(sessionCount))]
    }

    // MARK: PATCH

    /// Takes candidates (204), or restarts ICE (200 with the server's credentials and candidates).
    func trickle(_ direction: Direction, _ asked: RouteRequest) async throws -> Response {
        let session = try find(direction, asked)
        try checkRate(asked.parameter("session"))
        guard mediaType(asked.headers[.contentType]) == SDPFragment.contentType else {
            throw APIError(
                .unsupportedMediaType, "the body must be \(SDPFragment.contentType)",
                headers: [.acceptPatch: SDPFragment.contentType])
        }
        guard let match = asked.headers[.ifMatch] else {
            throw APIError(
                .preconditionRequired, "If-Match must hold the session's ETag, or * for an ICE restart")
        }
        let isRestart = match == "*"
        guard isRestart || match == session.tag else {
            throw APIError(.preconditionFailed, "the session's ETag is \(session.tag)", headers: [.eTag: session.tag])
        }
        let text = String(decoding: try await asked.body(upTo: sdpLimit), as: UTF8.self)
        let fragment = try Result { () throws(SDPError) in try SDPFragment(parsing: text) }
            .mapError { APIError.badRequest($0.description) }.get()
        if isRestart, let ufrag = fragment.ufrag, let password = fragment.password, ufrag != session.ufrag {
            return try await restart(asked.parameter("session"), session, fragment, ufrag: ufrag, password: password)
        }
        if let ufrag = fragment.ufrag, ufrag != session.ufrag {
            throw APIError(.conflict, "these candidates belong to another ICE session; a restart needs If-Match: *")
        }
        for candidate in fragment.candidates { session.seat.addCandidate(candidate) }
        if fragment.isComplete { session.seat.addCandidate(nil) }
        return Response(status: .noContent, headers: [.eTag: session.tag])
    }

    private func restart(
        _ id: String, _ session: Session, _ fragment: SDPFragment, ufrag: String, password: String
    ) async throws -> Response {
        let ours = try await session.seat.restartICE(ufrag: ufrag, password: password)
        for candidate in fragment.candidates { session.seat.addCandidate(candidate) }
        let tag = change(id) { session in
            session.ufrag = ufrag
            session.generation += 1
            return session.tag
        }
        let text = fragment.answer(ufrag: ours.ufrag, password: ours.password, candidates: ours.candidates)
        return Response(
            status: .ok,
            headers: [.contentType: SDPFragment.contentType, .eTag: tag ?? session.tag, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private func change<Result>(_ id: String, _ body: (inout Session) -> Result) -> Result? {
        sessions.withLock { sessions in
            guard case .running(var session) = sessions[id] else { return nil }
            defer { sessions[id] = .running(session) }
            return body(&session)
        }
    }

    private func checkRate(_ id: String) throws(APIError) {
        let now = MonotonicClock.now()
        let wait = change(id) { session in session.changes.take(at: now) ? Duration.zero : session.changes.wait(at: now)
        }
        if let wait, wait > .zero {
            throw APIError(
                Refusal(
                    .tooFast, "at most \(Int(WHIPEndpoint.changeRate)) changes a second of one session",
                    retryAfter: wait))
        }
    }

    // MARK: DELETE, OPTIONS

    package func stop(_ direction: Direction, _ asked: RouteRequest) async throws -> Response {
        let session = try find(direction, asked)
        removeSession(asked.parameter("session"))
        session.seat.leave(.left)
        return Response(status: .ok)
    }

    package func options(_ asked: RouteRequest) -> Response {
        Response(status: .noContent, headers: [.allow: "OPTIONS, POST", .acceptPost: "application/sdp"])
    }

    func sessionOptions(_ asked: RouteRequest) -> Response {
        Response(
            status: .noContent, headers: [.allow: "DELETE, OPTIONS, PATCH", .acceptPatch: SDPFragment.contentType])
    }

    // MARK: -

    /// The session of a request. Its URL is its secret: a client that knows it may use the session.
    private func find(_ direction: Direction, _ asked: RouteRequest) throws(APIError) -> Session {
        let state = sessions.withLock { $0[asked.parameter("session")] }
        guard case .running(let session) = state, session.path.hasPrefix("/\(direction.rawValue)/") else {
            throw APIError(.sessionNotFound, "there is no such session (any more)")
        }
        return session
    }
}
