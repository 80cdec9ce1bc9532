package import Basics

/// One client's call as a state machine: the client's events, the conference's results and time in, actions out.
///
/// The server is the only peer of every client, `mcu-1`, and answers offers; it never offers itself.
package struct CallSession: Sendable {
    package enum Action: Sendable, Equatable {
        /// Takes a seat; the result comes back by `joined` or `refused`. `call` tells one try from the next.
        case join(room: String, call: Int)
        /// Ends a join that is not complete.
        case giveUp
        /// Answers an offer; the result comes back by `answered` or `failed`.
        case offer(String, call: Int)
        case candidate(String)
        /// Leaves the seat.
        case leave
        /// Sends `_peers`.
        case peers
        /// Sends `_answer`.
        case answer(String)
        /// Sends `_remove_peer`, with which the client closes its call.
        case remove
    }

    /// The name of the server as a peer.
    package static let peer = "mcu-1"
    /// From the second call on, the apps send an offer from each call of the run, all at once, and keep only the newest
    /// connection: the server answers the newest offer of a burst.
    static let offerPause = Duration.milliseconds(300)
    /// A burst without an end is cut here.
    static let longestBurst = Duration.seconds(1)
    /// A client that has joined offers at once; one that never does is no participant.
    static let offerLimit = Duration.seconds(30)
    /// Candidates that wait for the answer to their offer.
    package static let maxCandidates = 64

    private enum State: Equatable {
        case outside
        case joining
        case inside(since: Instant)
    }

    private struct Offer {
        var text: String
        var first: Instant
        var due: Instant
    }

    private var state = State.outside
    package private(set) var room: String?
    private var call = 0
    /// The newest offer that waits for the end of its burst.
    private var offer: Offer?
    /// The offer that is being answered, or was answered last.
    private var current: String?
    private var isAnswering = false
    private var candidates: [String] = []

    /// Whether the client has a seat.
    package var isInside: Bool { if case .inside = state { true } else { false } }

    // MARK: From the client

    package mutating func join(_ room: String) -> [Action] {
        // The same call screen may ask twice; its seat is there.
        if room == self.room { return isInside ? [.peers] : [] }
        let actions = close()
        state = .joining
        self.room = room
        return actions + [.join(room: room, call: call)]
    }

    package mutating func offered(_ text: String, at now: Instant) {
        guard state != .outside, text != current, text != offer?.text else { return }
        let first = offer?.first ?? now
        let due = min(now + CallSession.offerPause, first + CallSession.longestBurst)
        offer = Offer(text: text, first: first, due: due)
    }

    package mutating func candidate(_ line: String) -> [Action] {
        guard state != .outside else { return [] }
        if current != nil, !isAnswering, offer == nil { return [.candidate(line)] }
        if candidates.count < CallSession.maxCandidates { candidates.append(line) }
        return []
    }

    /// The client has closed its call, or is gone.
    package mutating func close() -> [Action] {
        let actions: [Action] =
            switch state {
            case .outside: []
            case .joining: [.giveUp]
            case .inside: [.leave]
            }
        reset()
        return actions
    }

    // MARK: From the conference

    /// The seat is there. Returns nil if the client has closed that call meanwhile: the seat is to be left.
    package mutating func joined(_ call: Int, at now: Instant) -> [Action]? {
        guard call == self.call, state == .joining else { return nil }
        state = .inside(since: now)
        return [.peers]
    }

    package mutating func refused(_ call: Int) -> [Action] {
        guard call == self.call, state == .joining else { return [] }
        reset()
        return [.remove]
    }

    package mutating func answered(_ text: String, _ call: Int) -> [Action] {
        guard call == self.call, isAnswering else { return [] }
        isAnswering = false
        // The client's newest connection would take this answer for its own.
        if offer != nil { return [] }
        defer { candidates = [] }
        return candidates.map { .candidate($0) } + [.answer(text)]
    }

    /// The offer could not be answered.
    package mutating func failed(_ call: Int) -> [Action] {
        guard call == self.call, isAnswering else { return [] }
        isAnswering = false
        return offer == nil ? close() + [.remove] : []
    }

    /// The seat has ended: the client was removed, the room ended, the server goes down.
    package mutating func ended(_ call: Int) -> [Action] {
        guard call == self.call, state != .outside else { return [] }
        reset()
        return [.remove]
    }

    private mutating func reset() {
        state = .outside
        room = nil
        call += 1
        (offer, current, isAnswering, candidates) = (nil, nil, false, [])
    }

    // MARK: Time

    /// When `timePassed` has something to do.
    package var deadline: Instant {
        guard case .inside(let since) = state else { return .distantFuture }
        if let offer, !isAnswering { return offer.due }
        return current == nil && offer == nil ? since + CallSession.offerLimit : .distantFuture
    }

    mutating func timePassed(at now: Instant) -> [Action] {
        guard case .inside = state, now >= deadline else { return [] }
        guard let offer else { return close() + [.remove] }
        self.offer = nil
        current = offer.text
        isAnswering = true
        return [.offer(offer.text, call: call)]
    }
}
