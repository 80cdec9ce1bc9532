/// A join whose claims were looked at: by the one who checks tokens, by a seat's ticket, or for a source that the server
/// pulls. A room lets nobody in by a `JoinRequest`, so that no endpoint can forget to have a claimed role checked;
/// `scripts/check_imports.py` says who may make one.
@dynamicMemberLookup
package struct AdmittedJoin: Hashable, Sendable {
    /// What the client asked for, with the name and the role that its token gives.
    package private(set) var request: JoinRequest
    /// Whether a token or an administrator gave the role. Of a role that the client merely claims only `viewer` counts.
    package internal(set) var roleIsProven: Bool
    /// A guest link is good for the room: it needs no PIN.
    private(set) var isInvited = false
    /// The client was removed from this meeting (`Removals`): a moderator has to let it in.
    var wasRemoved = false
    /// The verified ticket that gives the client its seat; nil: the seat is a new one.
    var ticket: SeatTicket?

    package init(_ request: JoinRequest, roleIsProven: Bool) {
        self.request = request
        self.roleIsProven = roleIsProven
    }

    /// The join of who has had the seat before.
    init(_ ticket: SeatTicket, from client: JoinClient) {
        request = JoinRequest(room: ticket.room, name: ticket.name, role: ticket.role)
        request.isNative = ticket.isNative
        request.client = client
        roleIsProven = ticket.roleIsProven
        self.ticket = ticket
    }

    /// The role that the client has a right to ask for: it can become less, and not more.
    package internal(set) var role: Role {
        get { request.role }
        set { request.role = newValue }
    }

    package mutating func becomeViewer() { role = .viewer }

    package subscript<Value>(dynamicMember path: WritableKeyPath<JoinRequest, Value>) -> Value {
        get { request[keyPath: path] }
        set { request[keyPath: path] = newValue }
    }

    /// The same of a guest, with the role that the guest's link gives.
    func invited(as role: Role) -> AdmittedJoin {
        var join = self
        (join.isInvited, join.roleIsProven) = (true, true)
        if join.role != .viewer { join.role = role }
        return join
    }
}
