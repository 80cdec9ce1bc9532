import Admission
package import Conference
package import WebServer

/// One WebRTC demo client's connection as a state machine: messages, results and events in, actions out. No socket,
/// clock or room inside.
///
/// The client joins with its first offer, not when it connects: the app keeps a socket open from its start on and opens
/// a new one every 2 s where it lost one, whether its user is in a call or not.
package struct WebRTCDemoSession: Sendable {
    /// An action for the owner of the socket and the conference, to be performed in order.
    package enum Action: Sendable, Equatable {
        /// Takes a seat, or the client's seat of an earlier connection, and answers the offer there; the result comes
        /// back by `joined`, then `answered`, or by `refused`.
        case join(offer: String)
        /// Answers a later offer; the result comes back by `answered`.
        case offer(String)
        case candidate(String)
        /// Sends a binary frame.
        case send([UInt8])
        /// Ends the connection; the protocol has no message for that.
        case close(CloseCode, reason: String)
    }

    /// RFC 6455 §7.4.1, and 4000 to 4999 for private use.
    package enum CloseCode: UInt16, Sendable {
        case goingAway = 1001
        case policyViolation = 1008
        case tryAgainLater = 1013
        /// Somebody has ended this client's call.
        case removed = 4001
    }

    private enum State: Sendable, Equatable {
        case outside, joining
        /// The first offer is being answered.
        case answering
        case inside
        case over
    }

    /// Candidates that are kept until the first answer, and their length.
    package static let maxCandidates = 64
    static let maxCandidateBytes = 2048
    /// Messages that cannot be read, after which the connection ends.
    static let maxBadMessages = 20

    private var state = State.outside
    private var candidates: [String] = []
    private var badMessages = 0
    private let sdpLimit: Int

    /// - Parameter sdpLimit: the most bytes of an offer.
    package init(sdpLimit: Int) { self.sdpLimit = sdpLimit }

    /// Whether the client is in a room, or entering one.
    package var isInside: Bool { state == .joining || state == .answering || state == .inside }

    // MARK: From the client

    package mutating func received(_ bytes: [UInt8]) -> [Action] {
        if state == .over { return [] }
        do {
            return handle(try WebRTCDemoMessage.parse(bytes))
        } catch {
            badMessages += 1
            return badMessages < Self.maxBadMessages ? [] : end(.policyViolation, error.code.rawValue)
        }
    }

    private mutating func handle(_ message: WebRTCDemoMessage) -> [Action] {
        switch message {
        case .other: return []
        case .candidate(let line):
            guard line.utf8.count <= Self.maxCandidateBytes else { return [] }
            if state == .inside { return [.candidate(line)] }
            if candidates.count < Self.maxCandidates { candidates.append(line) }
            return []
        case .offer(let sdp):
            guard sdp.utf8.count <= sdpLimit else { return end(.policyViolation, ErrorCode.badSDP.rawValue) }
            switch state {
            case .outside:
                state = .joining
                return [.join(offer: sdp)]
            // The app's user may send an offer again and again; each is answered.
            case .inside: return [.offer(sdp)]
            case .joining, .answering, .over: return []
            }
        }
    }

    // MARK: Results and events

    package mutating func joined() {
        if state == .joining { state = .answering }
    }

    package mutating func answered(_ sdp: String) -> [Action] {
        guard state == .answering || state == .inside else { return [] }
        defer { (state, candidates) = (.inside, []) }
        // An app that gets a candidate before the answer loses it, and candidates of its own need the answer too.
        return [.send(WebRTCDemoMessage.answer(sdp: sdp))] + candidates.map { .candidate($0) }
    }

    /// Handles the refusal of an offer. A refused join ends the connection, which is all that the app can be told; a
    /// later offer's leaves the call as it is.
    package mutating func refused(_ refusal: Refusal) -> [Action] {
        guard state == .joining || state == .answering else { return [] }
        let code: CloseCode =
            switch refusal.code {
            case .roomFull, .overloaded, .tooFast, .internalFailure: .tryAgainLater
            case .forbidden: .removed
            default: .policyViolation
            }
        return end(code, refusal.code.rawValue)
    }

    package mutating func left(_ reason: LeaveReason) -> [Action] {
        guard state != .over, state != .outside else { return [] }
        switch reason {
        case .draining, .moved: return end(.goingAway, reason.rawValue)
        case .removed, .roomEnded: return end(.removed, reason.rawValue)
        case .overBudget: return end(.policyViolation, reason.rawValue)
        // The media has ended; the next offer joins again.
        case .left, .timeout, .failed, .replaced:
            (state, candidates) = (.outside, [])
            return []
        }
    }

    /// The server ends. Clients in rooms get `left`.
    package mutating func drained() -> [Action] {
        state == .outside ? end(.goingAway, LeaveReason.draining.rawValue) : []
    }

    private mutating func end(_ code: CloseCode, _ reason: String) -> [Action] {
        (state, candidates) = (.over, [])
        return [.close(code, reason: reason)]
    }
}
