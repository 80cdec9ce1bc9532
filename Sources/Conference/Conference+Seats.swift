import Threads

/// The way into rooms.
extension Conference {
    /// Takes a seat in a room, which is created where it does not exist yet and the configuration allows that. `events`
    /// are delivered in order, on the control thread; the first may come before this returns.
    package func join(
        _ request: AdmittedJoin, events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Participant {
        let request = try registry.checkRemovals(request, at: MonotonicClock.now())
        let joined = try seats.join(request, events: events)
        avatars.take(request.avatar, for: joined.id, in: request.room)
        if joined.startsRecording {
            // The join does not wait for the disk.
            Task { [self] in
                _ = try? await recordings.start(request.room)
            }
        }
        return Participant(id: joined.id, room: request.room, resumeSecret: joined.resumeSecret, conference: self)
    }

    /// Waits to be let in by a moderator, where a join threw `ConferenceError.mustWait`. Who waits holds no seat and gets
    /// nothing of the room. Returns the wait's id.
    ///
    /// - Parameter decided: called once, on the control thread; the call may come before this returns.
    package func wait(
        for request: AdmittedJoin, _ decided: @escaping @Sendable (WaitingEnd) -> Void
    ) throws(ConferenceError) -> String {
        try waiting.wait(for: try registry.checkRemovals(request, at: MonotonicClock.now()), decided)
    }

    /// Ends a wait whose client has gone.
    package func stopWaiting(_ id: String, in room: String) { waiting.leave(id, room) }

    /// Tells the moderators of a room how many wrong PINs were tried there.
    package func reportPINTries(at room: String, wrong: Int) {
        registry[room]?.read { slot in
            for member in slot.room.members where member.permits(.setPIN) {
                roomService.notify(slot, member.id, .pinTries(wrong))
            }
        }
    }

    /// Takes a seat back after signalling was lost; a seat of another server by its ticket
    /// (`ConferenceConfiguration.seatSecrets`), as which the secret of the result may be another one.
    ///
    /// - Parameters:
    ///   - room: the room that the client named; nil: none.
    ///   - client: the client for whose limits a seat counts that this server has never seen.
    package func resume(
        id: String, secret: String, in room: String? = nil, for client: JoinClient = JoinClient(),
        events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Participant {
        let joined = try seats.resume(id, secret: secret, in: room, for: client, events: events)
        avatars.take(joined.avatar, for: id, in: joined.room)
        return Participant(id: id, room: joined.room, resumeSecret: joined.resumeSecret, conference: self)
    }

    /// The participant with this secret, beside the endpoint that holds its seat: for requests that the client makes
    /// elsewhere.
    package func participant(_ id: String, secret: String, in room: String) throws(ConferenceError) -> Participant {
        // A room without this seat is not told from a room that does not exist.
        let known: Void? = try registry[room]?.read { slot throws(ConferenceError) in
            try seats.require(secret, of: id, in: slot.room)
        }
        guard known != nil else { throw .unauthorized("This seat is not kept any more: join anew.") }
        return Participant(id: id, room: room, resumeSecret: secret, conference: self)
    }

    /// Adds a connection that sends the screen of the participant with this secret, beside the one of its camera. It
    /// ends with the participant, with its presenting, and when the participant gets another one.
    ///
    /// - Parameters:
    ///   - client: who connects, for whose limits the connection counts as a seat.
    ///   - ended: called once it has ended for whatever reason, on the control thread.
    package func sendScreen(
        of id: String, secret: String, in room: String, for client: JoinClient, ended: @escaping @Sendable () -> Void
    ) throws(ConferenceError) -> ScreenSender {
        let participant = try participant(id, secret: secret, in: room)
        let peer = try seats.addScreenPeer(of: participant.id, in: room, for: client, ended: ended)
        return ScreenSender(id: peer, conference: self)
    }
}
