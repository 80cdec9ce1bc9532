import Basics
import FoundationEssentials
import Peer
import RoomMedia
import Sockets
import Synchronization
import Threads

/// Parses session descriptions, one at a time, so that a flood of offers takes one thread of the cooperative pool and
/// no time of the loops. The endpoints bound the number of waiting requests.
actor DescriptionReader {
    func read(_ sdp: String) throws(ConferenceError) -> SessionDescription {
        do {
            return try SessionDescription(parsing: sdp)
        } catch {
            throw ConferenceError(error)
        }
    }
}

/// The participants' peer connections, from offer and answer to statistics. The connections live on the loops, and
/// their work there is charged to their peers.
final class PeerService: Sendable {
    private let configuration: ConferenceConfiguration
    private let registry: RoomRegistry
    private let loops: PeerLoops
    private let descriptions = DescriptionReader()
    private let identity: DTLSIdentity
    private let candidates: [Candidate]
    /// Unix time minus monotonic time, measured once, so that the sender reports of all peers always agree.
    private let wallClockOffset: Duration

    init(_ configuration: ConferenceConfiguration, registry: RoomRegistry, loops: PeerLoops) throws(ConferenceError) {
        self.configuration = configuration
        self.registry = registry
        self.loops = loops
        do {
            identity = try DTLSIdentity.generate()
        } catch {
            throw .internalFailure("The certificate for media cannot be made: \(error)")
        }
        candidates = HostAddresses.candidates(
            announce: configuration.media.announce, udp: loops.sockets.boundUDP, tcp: loops.sockets.boundTCP)
        wallClockOffset = .seconds(Date().timeIntervalSince1970) - (MonotonicClock.now() - .zero)
    }

    /// The parts of a new `PeerSession`, read under the room's lock.
    private struct Plan: Sendable {
        var engine: RoomEngine
        var intake: Intake
        var media: MediaPreferences
        var chatChannel: String?
        var limits: SenderLimits?
        var directions: Directions
        var maySendMessages: Bool
        var claims: MediaKinds
        var life: SeatLiveness
        /// Whether this request counted the seat as half open.
        var beginsToConnect = false
    }

    /// What a peer may do, as the server's side has it.
    private struct Directions {
        var audio = Direction.sendReceive
        var video = Direction.sendReceive
        /// Whether the peer may send a screen beside its video.
        var acceptsScreen = true

        static let participant = Directions()
        static let viewer = Directions(audio: .sendOnly, video: .sendOnly)
        static let screen = Directions(audio: .inactive, video: .receiveOnly, acceptsScreen: false)
    }

    /// - Parameter connects: the request creates a peer, or connects it again.
    private func plan(_ id: String, connects: Bool) throws(ConferenceError) -> Plan {
        let now = MonotonicClock.now()
        guard let seat = registry.seat(id), let room = registry[seat.room] else { throw .participantNotFound(id) }
        let plan = try room.read { slot throws(ConferenceError) in
            let owner = seat.screenOf ?? id
            guard let intake = slot.engine.intake(owner), let member = slot.room.member(owner) else {
                throw .participantNotFound(id)
            }
            try registry.allow(.offer, id, at: now)
            var plan = Plan(
                engine: slot.engine, intake: intake,
                media: slot.audience.listeners[id]?.media ?? MediaPreferences(),
                chatChannel: slot.audience.listeners[id]?.chatChannel,
                limits: slot.limits[id],
                directions: member.kind == .viewer ? .viewer : .participant,
                maySendMessages: member.maySendMessages, claims: member.claims, life: seat.life)
            var isConnected = member.isConnected
            if seat.screenOf != nil {
                guard let peer = member.screenPeer, peer.id == id else { throw .participantNotFound(id) }
                isConnected = peer.hasBegun && peer.lostAt == nil
                (plan.intake, plan.directions, plan.maySendMessages) = (intake.ofScreenPeer, .screen, false)
                plan.claims = []
                plan.limits = slot.limits[owner].map { SenderLimits(camera: $0.screen) }
            }
            if connects, !isConnected { plan.beginsToConnect = try registry.beginHalfOpen(id, at: now) }
            return plan
        }
        guard let plan else { throw .participantNotFound(id) }
        return plan
    }

    /// Runs `body` on the loop, charged to the participant's peer there, which is created where there is none yet.
    private func onSeat<Value: Sendable>(
        _ id: String, _ plan: Plan, after description: SessionDescription? = nil,
        _ body: @escaping @Sendable (PeerSession, PeerLoop, Instant) throws -> Value
    ) async throws(ConferenceError) -> Value {
        do {
            return try await loops.result(on: loops.place(id)) { [self] host, now in
                // An offer of a reloaded page is for another connection of the same participant.
                if let peer = host.seat(id)?.peer, peer.isEnded || description.map(peer.isOther(than:)) ?? false {
                    host.remove(id, at: now)
                }
                let isNew = host.seat(id) == nil
                var result = Result<Value, ConferenceError>.failure(.participantNotFound(id))
                do throws(ConferenceError) {
                    let seat = try seat(id, plan, host, now)
                    result = Self.outcome(of: body, seat, host, now)
                    if case .failure = result, isNew { host.remove(id, at: now) }
                } catch {
                    result = .failure(error)
                }
                return result
            }
        } catch {
            if plan.beginsToConnect { registry.endHalfOpen(id) }
            throw error
        }
    }

    /// The participant's peer on the loop; created where there is none yet.
    private func seat(_ id: String, _ plan: Plan, _ host: PeerLoop, _ now: Instant) throws(ConferenceError)
        -> PeerSession
    {
        if let seat = host.seat(id) { return seat }
        // A participant that left while the request waited for the loop gets no peer.
        guard !plan.life.isOver else {
            loops.leave(id)
            throw .participantNotFound(id)
        }
        let seat = PeerSession(
            id: id, seatID: host.makeSeatID(), peer: try makePeer(plan, at: now),
            engine: plan.engine,
            intake: plan.intake,
            opensChannels: plan.media.opensChannels, chatChannel: plan.chatChannel,
            maySendMessages: plan.maySendMessages, claims: plan.claims,
            loopBudget: LoopBudget(share: configuration.limits.loopShare, at: now))
        host.add(seat, at: now)
        if let limits = plan.limits { host.setReceiveLimits(limits, of: id, at: now) }
        return seat
    }

    /// Answers an offer. The texts of offer and answer are read and written in the task of the request, not on the
    /// loop.
    ///
    /// - Returns: the answer, and whether the connection has a section for a screen beside the camera.
    func answer(_ id: String, offer: String) async throws(ConferenceError) -> (SDPAnswer, hasScreen: Bool) {
        let plan = try plan(id, connects: true)
        let description: SessionDescription
        do {
            description = try await descriptions.read(offer)
        } catch {
            if plan.beginsToConnect { registry.endHalfOpen(id) }
            throw error
        }
        let (answer, remoteUfrag, hasScreen) = try await onSeat(id, plan, after: description) { seat, host, now in
            let answer = try seat.peer.answer(description, at: now)
            host.updateUfrags(seat)
            host.negotiated(seat, at: now)
            return (answer, seat.peer.remoteUfrag, seat.peer.receivesScreen)
        }
        return (SDPAnswer(text: answer.description, remoteUfrag: remoteUfrag ?? ""), hasScreen)
    }

    func makeOffer(_ id: String, restartsICE: Bool) async throws(ConferenceError) -> String {
        let plan = try plan(id, connects: true)
        return try await onSeat(id, plan) { seat, host, now in
            let offer = seat.peer.makeOffer(at: now, iceRestart: restartsICE)
            host.updateUfrags(seat)
            host.touch(seat)
            return offer
        }
    }

    func accept(_ id: String, answer: String) async throws(ConferenceError) {
        try registry.allow(.offer, id, at: MonotonicClock.now())
        let description = try await descriptions.read(answer)
        try await onExistingSeat(id, orElse: "There is no offer to answer.") { seat, host, now in
            try seat.peer.accept(answer: description, at: now)
            host.updateUfrags(seat)
            host.negotiated(seat, at: now)
        }
    }

    /// Takes a candidate line of the client. Without a line, or beyond the allowance, it does nothing.
    func addCandidate(_ line: String?, of id: String) {
        guard let line, !line.isEmpty,
            (try? registry.allow(.candidate, id, at: MonotonicClock.now())) != nil
        else { return }
        loops.run(id) { host, now in
            guard let seat = host.seat(id) else { return }
            host.charging(seat) { seat.peer.addRemoteCandidate(line, at: now) }
            host.touch(seat)
        }
    }

    /// Exchanges new ICE credentials without an offer (RFC 9725 §4.3.3).
    func restartICE(_ id: String, ufrag: String, password: String) async throws(ConferenceError) -> ICERestart {
        try registry.allow(.offer, id, at: MonotonicClock.now())
        let ours = try await onExistingSeat(id, orElse: "There is nothing to restart.") { seat, host, now in
            let ours = try seat.peer.restartICE(remote: ICECredentials(ufrag: ufrag, password: password), at: now)
            host.updateUfrags(seat)
            host.touch(seat)
            return ours
        }
        return ICERestart(
            ufrag: ours.ufrag, password: ours.password, candidates: candidates.map(\.description))
    }

    private func onExistingSeat<Value: Sendable>(
        _ id: String, orElse fault: String, _ body: @escaping @Sendable (PeerSession, PeerLoop, Instant) throws -> Value
    ) async throws(ConferenceError) -> Value {
        guard let host = loops.host(of: id) else { throw .badSDP(fault) }
        return try await loops.result(on: host) { host, now in
            guard let seat = host.seat(id) else { return .failure(.badSDP(fault)) }
            return Self.outcome(of: body, seat, host, now)
        }
    }

    /// Runs `body`, charged to the peer.
    private static func outcome<Value>(
        of body: (PeerSession, PeerLoop, Instant) throws -> Value, _ seat: PeerSession, _ host: PeerLoop, _ now: Instant
    ) -> Result<Value, ConferenceError> {
        var result: Result<Value, any Error>?
        host.charging(seat) { result = Result { try body(seat, host, now) } }
        return (result ?? .failure(ConferenceError.internalFailure("nothing was done"))).mapError {
            ConferenceError($0)
        }
    }

    /// Makes a connection for one participant. Called on the loop.
    private func makePeer(_ plan: Plan, at now: Instant) throws(ConferenceError) -> PeerConnection {
        let media = plan.media
        var settings = PeerConfiguration(role: .server)
        settings.candidates = candidates
        settings.audio = plan.directions.audio
        settings.video = plan.directions.video
        settings.acceptsScreen = plan.directions.acceptsScreen
        settings.videoCodecs =
            media.videoCodecs?.filter(configuration.video.codecs.contains) ?? configuration.video.codecs
        settings.isCompactOffer = media.isCompactOffer
        settings.dtls.allowsLegacyVersions = media.allowsLegacyDTLS
        settings.bandwidth.maximum = plan.engine.usefulRate
        settings.wallClockOffset = wallClockOffset
        do {
            return try PeerConnection(settings, identity: identity, at: now)
        } catch {
            throw .internalFailure("\(error)")
        }
    }

    /// - Parameter engine: the media of the participant's room.
    func statistics(_ id: String, _ engine: RoomEngine) async throws(ConferenceError) -> ParticipantStatistics {
        let intake = engine.intake(id)
        var statistics = ParticipantStatistics()
        if let host = loops.host(of: id) {
            statistics = try await loops.result(on: host) { host, now in
                .success(host.seat(id).map { ParticipantStatistics(of: $0, at: now) } ?? ParticipantStatistics())
            }
        }
        if let screen = registry.screenPeer(of: id), let host = loops.host(of: screen) {
            statistics.receivedScreen = try await loops.result(on: host) { host, now in
                .success(host.seat(screen).map { ParticipantStatistics(of: $0, at: now).receivedVideo })
            }
        }
        if let intake {
            (statistics.receivedVideo.width, statistics.receivedVideo.height) = intake.video.size
            statistics.audioDelay = .nanoseconds(intake.statistics.delay.load(ordering: .relaxed))
            statistics.concealed = .nanoseconds(
                intake.statistics.concealed.load(ordering: .relaxed) * 1_000_000_000 / 48_000)
            statistics.freezes = intake.video.freezes
            statistics.milestones.firstPicture = intake.video.firstPicture
            statistics.audioVideoOffset = intake.video.audioVideoOffset(at: MonotonicClock.now())
        }
        return statistics
    }
}
