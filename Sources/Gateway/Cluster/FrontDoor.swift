import Conference

/// What a node of a cluster checks of those who want into a room, before a room is placed or another node works for
/// them. The rules of tokens are the same at every node; those of the room (its PIN, its lock) are its owner's.
struct FrontDoor: RoomDoor {
    var authorizer = JoinAuthorizer(verifier: nil)
    /// Reads the secrets of seats.
    var tickets: ClusterTickets?

    func check(_ room: String, token: String?, secret: String?) throws(Refusal) {
        if authorizer.verifier == nil { return }
        if let secret, tickets?.ticket(in: secret)?.room == room { return }
        _ = try authorizer.admit(JoinRequest(room: room, name: ""), asksRole: false, token: token)
    }

    /// Whether a request of an endpoint that checks tokens itself (WHIP, WHEP, AppRTC) may lead to a placement.
    func admits(_ placement: Placement, _ asked: RouteRequest) -> Bool {
        let room: String
        switch placement {
        case .room(let parameter, .creates), .room(let parameter, .returns): room = asked.parameter(parameter)
        case .appRTCRoom(.creates), .appRTCRoom(.returns): room = AppRTCRoomName(asked.parameter("room")).room
        default: return true
        }
        // The handler says what is wrong with the name.
        guard Names.isRoom(room) else { return true }
        // A screen comes with the secret of its participant's seat, alone or as ID.SECRET.
        var secret: String?
        if let participant = asked.query("screen"), let bearer = asked.bearer {
            secret = bearer.hasPrefix(participant + ".") ? String(bearer.dropFirst(participant.count + 1)) : bearer
        }
        return (try? check(room, token: asked.bearer ?? asked.query("token"), secret: secret)) != nil
    }

    func check(_ message: WebSocketConnection.Message, for room: String) throws(Refusal) {
        guard case .text(let text) = message, case .join(let join)? = try? ClientMessage.parse(text) else { return }
        try check(room, token: join.token, secret: join.resume?.secret)
    }
}

extension Access {
    /// Whether every node decides alike: by tokens and addresses only, and by nothing of a room.
    var isSameEverywhere: Bool {
        switch self {
        case .everyone, .endpoint, .reader, .guest, .recordings, .recordingFile, .recordingKeeper, .admin: true
        case .insider, .seat, .host: false
        }
    }
}
