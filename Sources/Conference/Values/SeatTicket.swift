package import FoundationEssentials

/// What the secret of a seat says where it is a ticket: who may take the seat, also at a server that has never seen it.
package struct SeatTicket: Hashable, Sendable {
    /// The time for which a ticket is good by itself …
    package static let life = TimeInterval(3600)
    /// … and for seats that the room knows: of a call that is longer than `life`, whose room came to another server.
    package static let knownLife = TimeInterval(24 * 3600)
    /// What the clocks of two servers may differ by.
    package static let skew = TimeInterval(30)

    package var room: String
    /// The room's meeting: a later meeting of the same name is not for who was in this one.
    package var meeting: String
    /// The participant's id.
    package var id: String
    package var name: String
    package var role: Role
    /// See `AdmittedJoin.roleIsProven`.
    package var roleIsProven: Bool
    /// See `JoinRequest.isNative`.
    package var isNative: Bool
    package var issuedAt: Date

    package init(
        room: String, meeting: String, id: String, name: String, role: Role, roleIsProven: Bool = false,
        isNative: Bool = true, issuedAt: Date
    ) {
        self.room = room
        self.meeting = meeting
        self.id = id
        self.name = name
        self.role = role
        self.roleIsProven = roleIsProven
        self.isNative = isNative
        self.issuedAt = issuedAt
    }

    /// - Parameter isKnown: whether the room knows the seat.
    func isGood(isKnown: Bool, at now: Date) -> Bool {
        let age = now.timeIntervalSince(issuedAt)
        return age >= -Self.skew && age <= (isKnown ? Self.knownLife : Self.life) + Self.skew
    }
}

/// Makes and reads the secrets of seats. Called with a room's lock held: neither may wait.
package protocol SeatSecrets: Sendable {
    func secret(of ticket: SeatTicket) -> String
    /// The ticket that this server or another one with the same key made; nil for every other text. Its time is not
    /// looked at.
    func ticket(in secret: String) -> SeatTicket?
}
