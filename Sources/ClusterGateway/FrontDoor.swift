package import Admission
import Conference
package import WebServer

/// What a node of a cluster checks of those who want into a room, before a room is placed or another node works for
/// them. The rules of tokens are the same at every node; those of the room (its PIN, its lock) are its owner's.
package struct FrontDoor: RoomDoor {
    package var authorizer = JoinAuthorizer(verifier: nil)
    /// Reads the secrets of seats.
    package var tickets: ClusterTickets?

    package init(authorizer: JoinAuthorizer = JoinAuthorizer(verifier: nil), tickets: ClusterTickets? = nil) {
        self.authorizer = authorizer
        self.tickets = tickets
    }

    package func check(_ room: String, token: String?, secret: String?) throws(Refusal) {
        if authorizer.verifier == nil { return }
        if let secret, tickets?.ticket(in: secret)?.room == room { return }
        _ = try authorizer.admit(JoinRequest(room: room, name: ""), asksRole: false, token: token)
    }

    /// Whether a request of an endpoint that checks tokens itself may lead to a placement.
    package func admits(_ placement: Placement, _ asked: RouteRequest) -> Bool {
        guard case .owner(let key, let need) = placement, need != .reads else { return true }
        let room = key.name(asked) ?? ""
        // The handler says what is wrong with the name.
        guard Names.isRoom(room) else { return true }
        // A screen comes with the secret of its participant's seat, alone or as ID.SECRET.
        var secret: String?
        if let participant = asked.query("screen"), let bearer = asked.bearer {
            secret = bearer.hasPrefix(participant + ".") ? String(bearer.dropFirst(participant.count + 1)) : bearer
        }
        return (try? check(room, token: asked.bearer ?? asked.query("token"), secret: secret)) != nil
    }
}
