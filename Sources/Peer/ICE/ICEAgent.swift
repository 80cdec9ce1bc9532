import Basics

/// Finds and keeps the way to one peer (RFC 8445; RFC 7675 for consent). A value: no socket, no clock. Not copyable:
/// its owner asks it with each packet, and is answered in place.
///
/// `.lite` is the server: it answers checks, believes the peer's nomination, and never checks itself (RFC 8445 §2.5).
/// It needs no candidates of the peer: the first authentic check tells where the peer is, so mDNS names do not matter.
/// `.controlling` is a caller: it checks the pairs of its own addresses and the peer's candidates, nominates, and keeps
/// consent.
package struct ICEAgent: ~Copyable, Sendable {
    /// Whether the agent checks on its own.
    package enum Mode: Sendable {
        case lite, controlling
    }

    package let mode: Mode
    /// What we offered last.
    package private(set) var local: ICECredentials
    /// Valid until the first check with the new ones.
    package private(set) var previousLocal: ICECredentials?
    package private(set) var remote: ICECredentials?
    /// Where to send. Before nomination: where authentic media came from.
    package private(set) var selected: Flow?
    /// Smoothed, of our checks; nil for a lite agent, which sends none.
    package var roundTripTime: Duration?
    /// Messages that were dropped: not STUN, not ours, not authentic, or too many.
    package private(set) var ignoredMessages = 0
    /// What the message that was handled last has shown of its flow; `.none` if it is not authentic.
    package private(set) var latestClaim = FlowClaim.none

    let configuration: ICEConfiguration
    var paths: [ICEPath] = []
    var localAddresses: [SocketAddress]
    var remoteCandidates: [Candidate] = []
    var random: SeededRandom
    /// False once a role conflict was lost (RFC 8445 §7.3.1.1).
    var isControlling: Bool
    var tieBreaker: UInt64
    var nextCheck: Instant?
    var firstSuccess: Instant?
    /// Where the peer wants its media once a check of ours was answered there.
    var preferred: Flow?
    /// Where the media was at first, and whether it has been elsewhere since.
    private var firstAddress: IPAddress?
    private(set) var hasMoved = false
    private let isSeeded: Bool
    private var transmits: [(bytes: [UInt8], flow: Flow)] = []
    private var events: [ICEEvent] = []
    private var liveness: ICELiveness
    private var replies: ReplyLimiter
    private var refusals: ReplyLimiter

    /// - Parameters:
    ///   - localAddresses: for `.controlling`: the UDP addresses that the caller's flows begin at, best first.
    ///   - seed: for tests: spreads consent checks in time and makes transaction ids. nil draws from the system, so
    ///     that nobody can guess the id of a check that was sent to somebody else.
    package init(
        mode: Mode, local: ICECredentials, localAddresses: [SocketAddress] = [],
        configuration: ICEConfiguration = ICEConfiguration(),
        seed: UInt64? = nil, at now: Instant
    ) {
        self.mode = mode
        self.local = local
        self.localAddresses = localAddresses
        self.configuration = configuration
        random = SeededRandom(seed: seed ?? ICECredentials.randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) })
        isSeeded = seed != nil
        isControlling = mode == .controlling
        tieBreaker = random.next()
        liveness = ICELiveness(configuration, at: now)
        replies = ReplyLimiter(perSecond: configuration.repliesPerSecond)
        refusals = ReplyLimiter(perSecond: configuration.refusalsPerSecond)
    }

    /// Every fragment of ours that a check may name now.
    package var localUfrags: [String] { [local.ufrag] + (previousLocal.map { [$0.ufrag] } ?? []) }

    // MARK: From the negotiation

    /// The peer's side of a description. New credentials in `.controlling` mode begin the checks anew.
    package mutating func setRemote(_ credentials: ICECredentials, candidates: [Candidate] = [], at now: Instant) {
        let isNew = remote != credentials
        remote = credentials
        guard mode == .controlling else {
            // What is under way was made with the old password.
            if isNew { for index in paths.indices where !paths[index].isAnswered { paths[index].check = .none } }
            return
        }
        if isNew {
            remoteCandidates = []
            firstSuccess = nil
            for index in paths.indices {
                paths[index].check = .waiting(since: now)
                paths[index].consentChecks = []
                paths[index].isNominated = false
            }
        }
        for candidate in candidates { addRemoteCandidate(candidate, at: now) }
        if nextCheck == nil { nextCheck = now }
    }

    /// A candidate that came later. A lite agent needs none; names (`….local`) and active TCP candidates are of no use
    /// to a caller.
    package mutating func addRemoteCandidate(_ candidate: Candidate, at now: Instant) {
        guard mode == .controlling, candidate.component == 1, remoteCandidates.count < configuration.pairLimit,
            !remoteCandidates.contains(candidate)
        else { return }
        remoteCandidates.append(candidate)
        addPairs(with: candidate, at: now)
    }

    /// New credentials of ours (ICE restart, RFC 8445 §9). The flow in use stays selected until the peer nominates
    /// again.
    package mutating func restart(local credentials: ICECredentials, at now: Instant) {
        guard credentials != local else { return }
        previousLocal = local
        local = credentials
        liveness.restart(at: now)
        // A nomination of before the restart does not count for the new session.
        for index in paths.indices where paths[index].flow != selected { paths[index].isNominated = false }
    }

    // MARK: From the network

    /// Takes a STUN message; replies and events are queued.
    package mutating func handle(stun bytes: UnsafeRawBufferPointer, flow: Flow, at now: Instant) {
        latestClaim = .none
        guard let message = STUNMessage(parsing: bytes) else {
            ignoredMessages &+= 1
            return
        }
        switch message.messageClass {
        case .request: if handleRequest(message, bytes, flow, at: now) { latestClaim = claim(on: flow) }
        // Keepalives (RFC 8445 §11): not authenticated, so they say nothing.
        case .indication: break
        case .success, .failure:
            if mode == .controlling {
                handleResponse(message, bytes, flow, at: now)
            } else if handleAnswer(message, bytes, flow, at: now) {
                latestClaim = claim(on: flow)
            }
        }
    }

    /// DTLS or SRTP that proved authentic came on `flow`: the best sign of which path the peer uses.
    ///
    /// - Parameter bytes: how many came.
    package mutating func authenticMedia(on flow: Flow, bytes: Int = 0, at now: Instant) {
        guard let index = index(of: flow), paths[index].isValidated else { return }
        paths[index].lastMedia = now
        paths[index].received += bytes
        if liveness.heardMedia(at: now) { events.append(.recovered) }
        guard selected != flow, isControlled else { return }
        guard let current = selected.flatMap({ self.index(of: $0) }) else { return prefer(index) }
        // Nominated or not: behind a NAT that gives another address, Firefox and aiortc go on with the pair that they
        // have, whose consent checks nominate nothing. A peer sends on its selected pair alone (RFC 8445 §12.1), so its
        // media tells which that is.
        let quiet = paths[current].lastMedia.map { now - $0 >= configuration.mediaMovesSelection } ?? true
        if quiet { prefer(index) }
    }

    /// Forgets a flow that ended (TCP). If it was selected, the best of the others takes over.
    package mutating func remove(_ flow: Flow, at now: Instant) {
        paths.removeAll { $0.flow == flow }
        if preferred == flow { preferred = nil }
        guard selected == flow else { return }
        selected = nil
        if isControlling, mode == .controlling {
            firstSuccess = nil
            checkAgain(at: now)
        }
        let best = paths.filter(\.isValidated).max {
            ($0.isAnswered ? 1 : 0, $0.isNominated ? 1 : 0, $0.lastAlive) < (
                $1.isAnswered ? 1 : 0, $1.isNominated ? 1 : 0, $1.lastAlive
            )
        }
        if let best { select(best.flow) }
    }

    /// When the latest authentic check, response or media came.
    package var lastHeard: Instant { liveness.lastHeard }
    /// Nothing authentic has come for a while.
    package var isInterrupted: Bool { liveness.isInterrupted }
    /// Consent has expired; final until `restart`.
    package var isExpired: Bool { liveness.isExpired }

    /// Whether an authentic check came on `flow`, so that DTLS and SRTP from it may be taken and answered.
    package func isValidated(_ flow: Flow) -> Bool { paths.contains { $0.flow == flow && $0.isValidated } }

    // MARK: Time and outputs

    /// Lets time pass: checks, consent, interruption and expiry.
    package mutating func advance(to now: Instant) {
        guard !isExpired else { return }
        if liveness.interrupts(hasPath: selected != nil, at: now) {
            events.append(.interrupted)
            if mode == .controlling { checkAgain(at: now) }
        }
        if liveness.expires(at: now) {
            selected = nil
            paths = []
            nextCheck = nil
            events.append(.expired)
            return
        }
        if mode == .controlling {
            runChecks(at: now)
        } else {
            leaveStalePaths(at: now)
            runPathChecks(at: now)
        }
    }

    /// Consent is per path (RFC 7675 §5.1): a selected one on which no check came for the whole time gives way to one
    /// that lives, or to none: nothing is sent to it any more. Others are forgotten.
    private mutating func leaveStalePaths(at now: Instant) {
        let live = paths.filter { $0.isValidated && now - $0.lastAlive < configuration.consentTimeout }
        guard live.count < paths.count else { return }
        paths = live
        if let preferred, index(of: preferred) == nil { self.preferred = nil }
        guard let selected, index(of: selected) == nil else { return }
        self.selected = nil
        if let latest = live.max(by: { ($0.isAnswered ? 1 : 0, $0.lastAlive) < ($1.isAnswered ? 1 : 0, $1.lastAlive) })
        {
            select(latest.flow)
        }
    }

    /// When `advance` has something to do.
    package var nextDeadline: Instant? {
        guard !isExpired else { return nil }
        var deadline = liveness.deadline(hasPath: selected != nil)
        if let check = mode == .lite ? nextPathDeadline : nextCheckDeadline { deadline = min(deadline, check) }
        return deadline
    }

    /// A datagram to send, in order.
    package mutating func nextTransmit() -> (bytes: [UInt8], flow: Flow)? {
        transmits.isEmpty ? nil : transmits.removeFirst()
    }

    /// What happened next; nil when all is told.
    package mutating func nextEvent() -> ICEEvent? { events.isEmpty ? nil : events.removeFirst() }

    // MARK: Within

    var isControlled: Bool { mode == .lite || !isControlling }

    func index(of flow: Flow) -> Int? { paths.firstIndex { $0.flow == flow } }

    mutating func send(_ bytes: [UInt8], _ flow: Flow) {
        // Drained after every turn; a caller that never drains must not grow us.
        guard transmits.count < 256 else { return }
        transmits.append((bytes, flow))
    }

    mutating func ignore() { ignoredMessages &+= 1 }

    mutating func select(_ flow: Flow) {
        guard selected != flow else { return }
        preferred = nil
        if let firstAddress, firstAddress != flow.remote.ip { hasMoved = true }
        firstAddress = firstAddress ?? flow.remote.ip
        selected = flow
        events.append(.selected(flow))
    }

    /// The peer proved that it still wants our media.
    mutating func consent(at now: Instant) {
        if liveness.consented(at: now) { events.append(.recovered) }
    }

    mutating func allowsReply(_ flow: Flow, refusal: Bool, at now: Instant) -> Bool {
        refusal ? refusals.allows(flow.remote, at: now) : replies.allows(flow.remote, at: now)
    }

    /// The first check with the new credentials ends the old ones.
    mutating func retirePreviousCredentials() {
        guard previousLocal != nil else { return }
        previousLocal = nil
        events.append(.oldCredentialsExpired)
    }

    mutating func newTransactionID() -> STUNMessage.TransactionID {
        guard !isSeeded else { return .init(high: UInt32(truncatingIfNeeded: random.next()), low: random.next()) }
        let bytes = ICECredentials.randomBytes(12)
        return .init(
            high: bytes[..<4].reduce(0) { $0 << 8 | UInt32($1) }, low: bytes[4...].reduce(0) { $0 << 8 | UInt64($1) })
    }
}
