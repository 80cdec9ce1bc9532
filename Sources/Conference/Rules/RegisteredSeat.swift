import Basics

/// One participant in the registry of all rooms, or the peer of a participant's screen.
struct RegisteredSeat: Sendable {
    let room: String
    let client: JoinClient
    let place: Capacity.SeatPlace
    let life: SeatLiveness
    /// The participant whose screen the peer sends; nil: the seat is a participant's.
    var screenOf: String?
    var allowance = SeatAllowance()
    /// When its peer began to connect; nil: there is no peer, or it is connected.
    var halfOpenSince: Instant?
    /// When to look next whether a valid check of that peer has come.
    var nextLook = Instant.distantPast
    /// Whether its peer is connected; without one the seat may be displaced. An input's always is.
    var isUsed = false
    var wasUsed = false
}
