import Admission
package import Basics
package import Conference
package import WebServer

/// One client's connection as a state machine: messages, results and time in, frames and actions out. No socket, clock
/// or room inside.
package struct RawTCPSession: Sendable {
    /// An action for the owner of the connection, to be performed in order.
    package enum Action: Sendable, Equatable {
        /// Takes a seat; the result comes back by `joined` or `refused`.
        case join(RawTCPMessage.Login)
        /// Makes an offer; the result comes back by `offered` or `refused`.
        case makeOffer(restartsICE: Bool)
        /// Takes the answer; the result comes back by `accepted` or `refused`.
        case accept(sdp: String)
        case candidate(String)
        /// Leaves the seat.
        case leave(LeaveReason)
        /// Reports the loss of signalling to the conference; the client may log in again.
        case lost
    }

    private enum Phase: Sendable, Equatable {
        case outside
        case joining
        /// The offer is being made.
        case offering
        /// The offer is sent, or about to be.
        case offered(until: Instant)
        case answering
        case inside
        /// The last frame is on its way.
        case ending(until: Instant)
        case over

        /// Whether the connection holds a seat.
        var isSeated: Bool {
            switch self {
            case .offering, .offered, .answering, .inside: true
            case .outside, .joining, .ending, .over: false
            }
        }
    }

    /// The time in which a client must log in. The app logs in at once.
    static let loginLimit = Duration.seconds(10)
    /// The time in which a client must answer the offer.
    static let answerLimit = Duration.seconds(20)
    /// A client that sends nothing for this long is gone: the app sends two heartbeats every 3 s.
    package static let silenceLimit = Duration.seconds(15)
    /// The time from `login_resp` to the offer: the app prepares its peer connection only when it is logged in.
    static let offerDelay = Duration.milliseconds(120)
    /// The time for the last frame to leave.
    static let endLimit = Duration.seconds(1)
    /// Candidates before the answer that are kept, and their length.
    package static let maxCandidates = 64
    static let maxCandidateBytes = 2048

    private var phase = Phase.outside
    private var pacer = RawTCPPacer()
    /// The id of the client; 0 before the login.
    package private(set) var peer = 0
    private let began: Instant
    private var heard: Instant
    /// When `login_resp` left.
    private var welcomedAt: Instant?
    private var candidates: [String] = []
    /// Whether the seat has had media, now or over an earlier connection: then it is kept for another login.
    private var isWorthKeeping = false
    private let sdpLimit: Int

    /// - Parameter sdpLimit: the most bytes of an answer.
    package init(sdpLimit: Int, at now: Instant) {
        self.sdpLimit = sdpLimit
        began = now
        heard = now
    }

    /// Whether the connection can be closed: the session has ended, and nothing waits to be sent.
    package var isOver: Bool { phase == .over }
    var isSeated: Bool { phase.isSeated }

    /// How long the client has been silent.
    package func silence(at now: Instant) -> Duration { now - heard }

    // MARK: From the client

    /// Notes bytes of the client, whatever they are.
    mutating func heardBytes(at now: Instant) { heard = max(heard, now) }

    package mutating func received(_ message: RawTCPMessage, at now: Instant) -> [Action] {
        switch (message, phase) {
        case (_, .over), (_, .ending): return []
        case (.heartbeat, _):
            send(.heartbeat, as: .reply, from: now)
            return []
        case (.login(let login), .outside):
            phase = .joining
            return [.join(login)]
        case (.answer(let sdp), .offered):
            guard sdp.utf8.count <= sdpLimit else {
                return refused(Refusal(.badSDP, "sdp: at most \(sdpLimit) bytes (limits.sdpBytes)"), at: now)
            }
            phase = .answering
            return [.accept(sdp: sdp)]
        case (.candidate(let line), .inside):
            return line.utf8.count <= Self.maxCandidateBytes ? [.candidate(line)] : []
        case (.candidate(let line), _):
            if line.utf8.count <= Self.maxCandidateBytes, candidates.count < Self.maxCandidates {
                candidates.append(line)
            }
            return []
        // A second login or answer on one connection changes nothing.
        case (.login, _), (.answer, _), (.other, _): return []
        }
    }

    // MARK: Results

    /// - Parameters:
    ///   - peer: the client's id.
    ///   - isAgain: the client has its seat of an earlier connection again.
    package mutating func joined(as peer: Int, isAgain: Bool, at now: Instant) -> [Action] {
        guard phase == .joining else { return [.leave(.left)] }
        self.peer = peer
        isWorthKeeping = isAgain
        phase = .offering
        send(.loggedIn(peer: peer), as: .welcome, from: now)
        return [.makeOffer(restartsICE: isAgain)]
    }

    /// - Parameter json: the message with the offer.
    package mutating func offered(_ json: [UInt8], at now: Instant) -> [Action] {
        guard phase == .offering else { return [] }
        guard let frame = RawTCPFrame.encode(json) else {
            return refused(Refusal(.internalFailure, "the offer does not fit into a frame"), at: now)
        }
        pacer.add(RawTCPPacer.Item(kind: .offer, frame: frame, due: welcomedAt.map { $0 + Self.offerDelay }))
        phase = .offered(until: now + Self.answerLimit)
        return []
    }

    package mutating func accepted(at now: Instant) -> [Action] {
        guard phase == .answering else { return [] }
        phase = .inside
        isWorthKeeping = true
        defer { candidates = [] }
        return candidates.map { .candidate($0) }
    }

    /// Ends the session for a refused join, offer or answer.
    package mutating func refused(_ refusal: Refusal, at now: Instant) -> [Action] {
        end(refusal.code.rawValue, refusal.code == .unauthorized && phase.isSeated ? .lost : .leave(.failed), at: now)
    }

    /// The seat has ended.
    package mutating func left(_ reason: LeaveReason, at now: Instant) -> [Action] {
        end(reason.rawValue, nil, at: now)
    }

    /// Ends the session with a last frame.
    ///
    /// - Parameter fate: what becomes of the seat, if the session has one.
    private mutating func end(_ reason: String, _ fate: Action?, at now: Instant) -> [Action] {
        switch phase {
        case .ending, .over: return []
        default: break
        }
        defer { phase = .ending(until: now + Self.endLimit) }
        pacer.removeAll()
        send(.over(reason: reason), as: .last, from: now)
        return phase.isSeated ? [fate].compactMap { $0 } : []
    }

    // MARK: From the socket

    /// The connection has ended, whichever side ended it.
    package mutating func disconnected() -> [Action] {
        defer { phase = .over }
        guard phase.isSeated else { return [] }
        return [isWorthKeeping ? .lost : .leave(.left)]
    }

    // MARK: Time

    private mutating func send(_ reply: RawTCPReply, as kind: RawTCPPacer.Kind, from due: Instant) {
        guard let frame = RawTCPFrame.encode(reply.json(to: peer)) else { return }
        pacer.add(RawTCPPacer.Item(kind: kind, frame: frame, due: due))
    }

    /// The frame to send now, in one write; nil: none.
    package mutating func nextFrame(at now: Instant) -> [UInt8]? {
        if phase == .over { return nil }
        guard let item = pacer.next(at: now) else {
            if case .ending = phase, pacer.isEmpty { phase = .over }
            return nil
        }
        if item.kind == .welcome {
            welcomedAt = now
            pacer.allow(.offer, from: now + Self.offerDelay)
        }
        return item.frame
    }

    /// Ends what has lasted too long.
    package mutating func advance(to now: Instant) -> [Action] {
        switch phase {
        case .over: return []
        case .ending(let until):
            if now >= until { phase = .over }
            return []
        case .outside where now - began >= Self.loginLimit: return end("timeout", nil, at: now)
        case .offered(let until) where now >= until: return end("timeout", .leave(.timeout), at: now)
        default:
            return silence(at: now) >= Self.silenceLimit ? end("timeout", .leave(.timeout), at: now) : []
        }
    }

    /// When `nextFrame` and `advance` have to be called again.
    package var deadline: Instant? {
        var times = [heard + Self.silenceLimit]
        switch phase {
        case .over: return nil
        case .outside: times.append(began + Self.loginLimit)
        case .offered(let until), .ending(let until): times.append(until)
        default: break
        }
        if let next = pacer.deadline { times.append(next) }
        return times.min()
    }
}
