import Basics
import Conference

/// One AppRTC client from its join to its end as a state machine: requests, events and time in, actions out. No socket,
/// clock or room inside.
///
/// A client joins by HTTP, registers on a WebSocket, and posts its offer and candidates by HTTP, side by side with the
/// registration. The answer goes over the WebSocket; until the client registers, the answer waits.
struct AppRTCSession: Sendable {
    /// An action for the owner of the socket and the seat, to be performed in order.
    enum Action: Sendable, Equatable {
        case send(AppRTCFrame)
        case close(CloseCode, reason: String)
        /// Gives up the seat.
        case leave(LeaveReason)
        /// The session is over; its client id is unknown from now on.
        case end
    }

    /// RFC 6455 §7.4.1.
    enum CloseCode: UInt16, Sendable {
        case normal = 1000
        case goingAway = 1001
        case policyViolation = 1008
    }

    /// The time to register after the join, and to register again after the WebSocket has closed: Collider's
    /// `registerTimeoutSec`.
    static let registrationLimit = Duration.seconds(10)
    /// The time without media after which a client that still has its WebSocket is gone. The clients do not restart
    /// ICE; a short loss of the network heals without it.
    static let mediaLimit = Duration.seconds(30)

    private enum Socket: Sendable {
        /// The join is not complete.
        case none
        /// The client has not registered since its join or since the end of its WebSocket.
        case absent(since: Instant, wasOpen: Bool)
        case open
    }

    private enum Media: Sendable {
        /// The client has not offered.
        case none
        /// The client has its answer, or soon gets it.
        case connecting
        case connected
        case lost(since: Instant)
    }

    private var socket = Socket.none
    private var media = Media.none
    /// Waits for the registration. Only the newest answer matters, so no more than one waits.
    private var answer: String?
    private(set) var isOver = false

    // MARK: The client

    /// The client has its answer to the join: a seat, or a place among those who wait to be let in, of which it learns
    /// nothing but that its offer is not answered yet.
    mutating func accepted(at now: Instant) {
        if case .none = socket { socket = .absent(since: now, wasOpen: false) }
    }

    /// The client was not let in, or has no seat for another reason.
    mutating func refused() -> [Action] { end(.failed, bye: true) }

    /// Registers the client's WebSocket.
    mutating func registered() throws(AppRTCFault) -> [Action] {
        guard !isOver, case .absent = socket else { throw isOver ? .noSeat : .duplicatedRegistration }
        socket = .open
        defer { answer = nil }
        return answer.map { [.send(.answer(sdp: $0))] } ?? []
    }

    /// The client ends the call: `/leave`, `bye`, or DELETE.
    mutating func left() -> [Action] { end(.left) }

    /// The WebSocket has closed, whichever side closed it. A client whose media is gone too is gone; otherwise it may
    /// register again.
    mutating func socketClosed(at now: Instant) -> [Action] {
        guard !isOver, case .open = socket else { return [] }
        socket = .absent(since: now, wasOpen: true)
        switch media {
        case .none, .lost: return end(.left)
        case .connecting, .connected: return []
        }
    }

    // MARK: The conference

    /// The conference has answered an offer.
    mutating func answered(_ sdp: String) -> [Action] {
        if isOver { return [] }
        switch media {
        case .none, .lost: media = .connecting
        case .connecting, .connected: break
        }
        guard case .open = socket else {
            answer = sdp
            return []
        }
        return [.send(.answer(sdp: sdp))]
    }

    mutating func handleEvent(_ event: ParticipantEvent, at now: Instant) -> [Action] {
        if isOver { return [] }
        switch event {
        case .connection(true):
            media = .connected
            return []
        case .connection(false):
            media = .lost(since: now)
            if case .absent(_, wasOpen: true) = socket { return end(.left) }
            return []
        case .left(let reason):
            let isServers = reason == .draining || reason == .moved
            return over(bye: true, code: isServers ? .goingAway : .normal, reason: reason)
        default:
            // The clients know no other events.
            return []
        }
    }

    // MARK: Time

    /// When the client is gone unless something happens; nil: never.
    var deadline: Instant? {
        if isOver { return nil }
        if case .absent(let since, _) = socket { return since + Self.registrationLimit }
        if case .lost(let since) = media { return since + Self.mediaLimit }
        return nil
    }

    mutating func handleTimeout(at now: Instant) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        return end(.timeout, bye: true)
    }

    // MARK: The end

    /// Ends the session from this side of the conference.
    ///
    /// - Parameter bye: the client is to know that the call is over, because it did not end the call itself.
    private mutating func end(_ reason: LeaveReason, bye: Bool = false) -> [Action] {
        if isOver { return [] }
        return [.leave(reason)] + over(bye: bye, code: .normal, reason: reason)
    }

    private mutating func over(bye: Bool, code: CloseCode, reason: LeaveReason) -> [Action] {
        isOver = true
        guard case .open = socket else { return [.end] }
        return (bye ? [.send(.bye)] : []) + [.close(code, reason: reason.rawValue), .end]
    }
}
