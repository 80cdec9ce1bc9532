package import Basics
import Cryptography

/// Finds and keeps the path to one peer (RFC 8445; RFC 7675 for consent). A value: no socket, no clock. Not copyable:
/// its owner calls it with each packet, in place.
///
/// `.lite` is the server: it answers checks, accepts the peer's nomination, and checks only whether the peer receives
/// at a new address. It needs no candidates of the peer: the first authentic check shows where the peer is, so mDNS
/// names do not matter. `.controlling` is a caller: it checks the pairs of its own addresses and the peer's candidates,
/// nominates, and keeps consent.
package struct ICEAgent: ~Copyable, Sendable {
    /// A lite agent, or a full one in the controlling role (RFC 8445 §2.5).
    package enum Mode: Sendable {
        case lite, controlling
    }

    package let mode: Mode
    /// The credentials that we sent last.
    package private(set) var local: ICECredentials
    /// The credentials before these, valid until the first check with the new ones.
    package private(set) var previousLocal: ICECredentials?
    package private(set) var remote: ICECredentials?
    /// The flow to send on. Before nomination: the flow that authentic media came on.
    package private(set) var selected: Flow?
    /// The smoothed round trip of our checks; nil before one was answered.
    package var roundTripTime: Duration?
    /// Messages that were dropped: not STUN, not for us, not authentic, or too many.
    package private(set) var ignoredMessages = 0
    /// What the last message proved about its flow; `.none` if it is not authentic.
    package private(set) var latestClaim = FlowClaim.none

    let configuration: ICEConfiguration
    var paths: [ICEPath] = []
    var localAddresses: [SocketAddress]
    var remoteCandidates: [Candidate] = []
    var random: SeededRandom
    /// False after a lost role conflict (RFC 8445 §7.3.1.1).
    var isControlling: Bool
    var tieBreaker: UInt64
    var nextCheck: Instant?
    var firstSuccess: Instant?
    /// The flow that the peer wants its media on, once a check of ours was answered there.
    var preferred: Flow?
    /// The first address of the media, and whether it has moved since.
    private var firstAddress: IPAddress?
    private(set) var hasMoved = false
    private let isSeeded: Bool
    private var transmits: [(bytes: [UInt8], flow: Flow)] = []
    private var events: [ICEEvent] = []
    private var liveness: ICELiveness
    private var replies: ReplyLimiter
    private var refusals: ReplyLimiter

    /// - Parameters:
    /// - localAddresses: for `.controlling`: the local UDP addresses of the caller's flows, best first.
    /// - seed: for tests: determines the times of consent checks and the transaction ids. nil draws from the system, so
    ///   that nobody can guess the id of a check that was sent to another address.
    package init(
        mode: Mode, local: ICECredentials, localAddresses: [SocketAddress] = [],
        configuration: ICEConfiguration = ICEConfiguration(),
        seed: UInt64? = nil, at now: Instant
    ) {
        self.mode = mode
        self.local = local
        self.localAddresses = localAddresses
        self.configuration = configuration
        random = SeededRandom(seed: seed ?? randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) })
        isSeeded = seed != nil
        isControlling = mode == .controlling
        tieBreaker = random.next()
        liveness = ICELiveness(configuration, mediaIsConsent: mode == .lite, at: now)
        replies = ReplyLimiter(perSecond: configuration.repliesPerSecond)
        refusals = ReplyLimiter(perSecond: configuration.refusalsPerSecond)
    }

    /// Our user name fragments that a check may carry now.
    package var localUfrags: [String] { [local.ufrag] + (previousLocal.map { [$0.ufrag] } ?? []) }

    // MARK: From the negotiation

    /// Sets the peer's side of a description. In `.controlling` mode new credentials restart the checks.
    package mutating func setRemote(_ credentials: ICECredentials, candidates: [Candidate] = [], at now: Instant) {
        let isNew = remote != credentials
        remote = credentials
        guard mode == .controlling else {
            // Checks in progress were made with the old password.
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

    /// Adds a candidate that came later. A lite agent needs none; names (`….local`) and active TCP candidates are of no
    /// use to a caller.
    package mutating func addRemoteCandidate(_ candidate: Candidate, at now: Instant) {
        guard mode == .controlling, candidate.component == 1, remoteCandidates.count < configuration.pairLimit,
            !remoteCandidates.contains(candidate)
        else { return }
        remoteCandidates.append(candidate)
        addPairs(with: candidate, at: now)
    }

    /// Sets new credentials of ours (ICE restart, RFC 8445 §9). The flow in use stays selected until the peer nominates
    /// again.
    package mutating func restart(local credentials: ICECredentials, at now: Instant) {
        guard credentials != local else { return }
        previousLocal = local
        local = credentials
        liveness.restart(at: now)
        // A nomination from before the restart does not count afterwards.
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
        // Keepalives (RFC 8445 §11): not authenticated, so they prove nothing. A peer that sends nothing else is asked
        // for its consent.
        case .indication: break
        case .success, .failure:
            if mode == .controlling {
                handleResponse(message, bytes, flow, at: now)
            } else if handleAnswer(message, bytes, flow, at: now) {
                latestClaim = claim(on: flow)
            }
        }
    }

    /// Takes note of authentic DTLS or SRTP on `flow`: the best evidence of which path the peer uses.
    ///
    /// - Parameter bytes: the number of bytes received.
    package mutating func authenticMedia(on flow: Flow, bytes: Int = 0, at now: Instant) {
        guard let index = index(of: flow), paths[index].isValidated else { return }
        paths[index].lastMedia = now
        paths[index].received += bytes
        if liveness.noteMedia(at: now) { events.append(.recovered) }
        guard selected != flow, isControlled else { return }
        guard let current = selected.flatMap({ self.index(of: $0) }) else { return prefer(index) }
        // The path need not be nominated: behind a NAT that assigns another address, Firefox and aiortc continue with
        // the pair that they have, whose consent checks nominate nothing. A peer sends on its selected pair alone (RFC
        // 8445 §12.1), so its media shows which one that is.
        let quiet = paths[current].lastMedia.map { now - $0 >= configuration.mediaMovesSelection } ?? true
        if quiet { prefer(index) }
    }

    /// Removes a flow that ended (TCP). If it was selected, the best of the others is selected.
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
    package var lastReceived: Instant { liveness.lastReceived }
    /// Whether nothing authentic has come for `interruptedAfter`.
    package var isInterrupted: Bool { liveness.isInterrupted }
    /// Whether consent has expired; final until `restart`.
    package var isExpired: Bool { liveness.isExpired }

    /// Whether an authentic check came on `flow`, so that DTLS and SRTP from it may be accepted and answered.
    package func isValidated(_ flow: Flow) -> Bool { paths.contains { $0.flow == flow && $0.isValidated } }

    /// Whether an authentic check came on any flow.
    package var hasValidPath: Bool { paths.contains(where: \.isValidated) }

    // MARK: Time and outputs

    /// Advances to `now`: checks, consent, interruption and expiry.
    package mutating func advance(to now: Instant) {
        guard !isExpired else { return }
        if liveness.interruptIfDue(hasPath: selected != nil, at: now) {
            events.append(.interrupted)
            if mode == .controlling { checkAgain(at: now) }
        }
        if liveness.expireIfDue(at: now) {
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
            revokeAnswers(at: now)
            runPathChecks(at: now)
        }
    }

    /// Removes paths without consent, which is per path (RFC 7675 §5.1): a selected path on which neither a check nor
    /// media came for the whole time is replaced by a live one, or by none, and nothing is sent to it any more.
    private mutating func leaveStalePaths(at now: Instant) {
        let live = paths.filter { $0.isValidated && now - $0.lastSign < configuration.consentTimeout }
        guard live.count < paths.count else { return }
        paths = live
        if let preferred, index(of: preferred) == nil { self.preferred = nil }
        guard let selected, index(of: selected) == nil else { return }
        self.selected = nil
        if let latest = live.max(by: { ($0.isAnswered ? 1 : 0, $0.lastSign) < ($1.isAnswered ? 1 : 0, $1.lastSign) }) {
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

    /// The next datagram to send, in order.
    package mutating func nextTransmit() -> (bytes: [UInt8], flow: Flow)? {
        transmits.isEmpty ? nil : transmits.removeFirst()
    }

    /// The next event; nil when there is none.
    package mutating func nextEvent() -> ICEEvent? { events.isEmpty ? nil : events.removeFirst() }

    // MARK: Internals

    var isControlled: Bool { mode == .lite || !isControlling }

    func index(of flow: Flow) -> Int? { paths.firstIndex { $0.flow == flow } }

    mutating func send(_ bytes: [UInt8], _ flow: Flow) {
        // The owner drains this after every turn; the bound is for one that never does.
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

    /// Records that the peer proved that it still wants our media.
    mutating func consent(at now: Instant) {
        if liveness.noteConsent(at: now) { events.append(.recovered) }
    }

    mutating func allowsReply(_ flow: Flow, refusal: Bool, at now: Instant) -> Bool {
        refusal ? refusals.allows(flow.remote, at: now) : replies.allows(flow.remote, at: now)
    }

    /// Ends the old credentials at the first check with the new ones.
    mutating func retirePreviousCredentials() {
        guard previousLocal != nil else { return }
        previousLocal = nil
        events.append(.oldCredentialsExpired)
    }

    mutating func newTransactionID() -> STUNMessage.TransactionID {
        guard !isSeeded else { return .init(high: UInt32(truncatingIfNeeded: random.next()), low: random.next()) }
        let bytes = randomBytes(12)
        return .init(
            high: bytes[..<4].reduce(0) { $0 << 8 | UInt32($1) }, low: bytes[4...].reduce(0) { $0 << 8 | UInt64($1) })
    }
}
