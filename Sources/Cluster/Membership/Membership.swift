import Basics

/// The membership of one node: its registration under a lease, and what it may believe when the store does not answer.
/// Time, answers of the store and answers of peers go in; what is to be asked and done comes out.
///
/// The clock must go on while the machine is suspended (CLOCK_BOOTTIME): a lease ends in that time.
struct Membership: Sendable {
    struct Configuration: Hashable, Sendable {
        var ttl: Duration = .seconds(6)
        /// Renewals; a quarter leaves time for two more tries at other members of the store.
        var renewal: Duration { ttl / 4 }
        /// How long one member of the store has for a renewal.
        var renewalLimit: Duration { min(.seconds(1), ttl / 6) }
        /// From one try of a failed call to the next.
        var retry: Duration = .seconds(1)
        /// From one round of questions to peers to the next, while the node is not sure.
        var questions: Duration = .seconds(1)
        /// Rounds without any answer after which the node is alone.
        var silentRounds = 2
        /// Between tries to register while another process has the id.
        var displacedRetry: Duration = .seconds(5)
        /// How long a peer must have been sure before it may fence others. After an outage of the store a new leader gives
        /// each lease its time once more, and the first nodes that are sure again see the others' leases end although
        /// these are about to be back.
        var fencing: Duration { ttl * 2 }
    }

    enum Action: Hashable, Sendable {
        /// Grant a lease and write the node's record with it: `registered`, `displaced` or `registrationFailed` tells the
        /// outcome.
        ///
        /// `takesOver`: a record of another incarnation is that of an earlier process, and its lease is ended.
        case register(takesOver: Bool)
        /// Renew the lease: `renewed`, `leaseGone` or `renewalFailed`. `verifying`: beside it, read the node's own record,
        /// since a renewal alone proves too little after the deadline: 3.4 up to .37 may renew a revoked lease.
        case renew(lease: Int64, verifying: Bool)
        /// Ask up to three peers: `answers`.
        case ask
        /// List everything again: the watch may have stalled with the connection to the store.
        case relist
        /// Make each room that is here this node's under its new lease.
        case claim
        /// End every room that is here.
        case loseAll
        /// Tell the operator that another process has this id.
        case warnDisplaced
    }

    private struct Lease: Sendable {
        var id: Int64
        /// The time of sending of the last answered renewal, and the time to live.
        var deadline: BootInstant
        /// At which the node's record was written.
        var revision: Int64
    }

    private enum Phase {
        /// Never registered.
        case joining
        case registered
        /// The lease or the record is gone, by what the store said.
        case lost
        case fenced
    }

    let id: String
    let incarnation: String
    let configuration: Configuration
    private var phase = Phase.joining
    private var lease: Lease?
    private var nextRegistration = BootInstant.distantPast
    private var nextRenewal = BootInstant.distantPast
    private var nextQuestion = BootInstant.distantFuture
    private var isRegistering = false
    private var isRenewing = false
    private var isAsking = false
    private var isDisplaced = false
    /// Rounds of questions without any answer, in a row.
    private var silentRounds = 0
    /// Since when the node is sure without a break.
    private var sureSince = BootInstant.distantFuture

    init(id: String, incarnation: String, _ configuration: Configuration) {
        self.id = id
        self.incarnation = incarnation
        self.configuration = configuration
    }

    // MARK: What is so

    func standing(at now: BootInstant) -> ClusterView.MembershipState {
        switch phase {
        case .joining: .joining
        case .fenced: .fenced
        case .registered where now < deadline: .sure
        case .registered, .lost: silentRounds >= configuration.silentRounds ? .alone : .unsure
        }
    }

    /// The lease under which the node's keys stand; nil: there is none now.
    var leaseID: Int64? { phase == .registered ? lease?.id : nil }

    /// How long the node has been sure without a break.
    func sureFor(at now: BootInstant) -> Duration { standing(at: now) == .sure ? max(.zero, now - sureSince) : .zero }

    func leaseMargin(at now: BootInstant) -> Duration { phase == .registered ? deadline - now : .zero }

    private var deadline: BootInstant { lease?.deadline ?? .distantPast }

    /// When `advance` is due next, at the latest.
    var nextDeadline: BootInstant {
        switch phase {
        case .joining, .fenced: isRegistering ? .distantFuture : nextRegistration
        case .lost: min(isRegistering ? .distantFuture : nextRegistration, isAsking ? .distantFuture : nextQuestion)
        case .registered:
            min(isRenewing ? .distantFuture : nextRenewal, isAsking ? .distantFuture : max(nextQuestion, deadline))
        }
    }

    // MARK: Time

    mutating func advance(to now: BootInstant) -> [Action] {
        var actions: [Action] = []
        switch phase {
        case .joining, .fenced, .lost:
            if !isRegistering, now >= nextRegistration {
                isRegistering = true
                actions.append(.register(takesOver: phase == .joining && !isDisplaced))
            }
        case .registered:
            if let lease, !isRenewing, now >= nextRenewal {
                isRenewing = true
                actions.append(.renew(lease: lease.id, verifying: now >= deadline))
            }
        }
        let isUnsure = phase == .lost || (phase == .registered && now >= deadline)
        if isUnsure, !isAsking, now >= nextQuestion {
            isAsking = true
            nextQuestion = now + configuration.questions
            actions.append(.ask)
        }
        return actions
    }

    // MARK: The store's answers

    /// - Parameters:
    ///   - sent: when the lease was asked for.
    ///   - revision: at which the node's record was written.
    mutating func registered(lease id: Int64, ttl: Duration, sent: BootInstant, revision: Int64, at now: BootInstant)
        -> [Action]
    {
        guard isRegistering else { return [] }
        isRegistering = false
        let hasRooms = phase == .lost
        lease = Lease(id: id, deadline: sent + min(ttl, configuration.ttl), revision: revision)
        (phase, isDisplaced, silentRounds, sureSince) = (.registered, false, 0, now)
        nextRenewal = sent + configuration.renewal
        nextQuestion = .distantPast
        isRenewing = false
        return hasRooms ? [.relist, .claim] : [.relist]
    }

    mutating func registrationFailed(at now: BootInstant) {
        guard isRegistering else { return }
        isRegistering = false
        nextRegistration = now + configuration.retry
    }

    /// Another living process has the id: it came later, or this one gave the id up while it was gone.
    mutating func displaced(at now: BootInstant) -> [Action] {
        isRegistering = false
        nextRegistration = now + configuration.displacedRetry
        let (wasDisplaced, hadRooms) = (isDisplaced, phase == .registered || phase == .lost)
        isDisplaced = true
        if hadRooms { (phase, lease) = (.fenced, nil) }
        return (wasDisplaced ? [] : [.warnDisplaced]) + (hadRooms ? [.loseAll] : [])
    }

    /// - Parameter isRecordThere: whether the node's own record was read beside it with this lease; nil: it was not read.
    mutating func renewed(
        lease id: Int64, ttl: Duration, sent: BootInstant, isRecordThere: Bool?, at now: BootInstant
    ) -> [Action] {
        guard phase == .registered, var lease, lease.id == id else { return [] }
        isRenewing = false
        if isRecordThere == false {
            lose(at: now)
            return []
        }
        // An answer that came only after the deadline proves nothing where the record was not read.
        if isRecordThere == nil, now >= lease.deadline {
            nextRenewal = now
            return []
        }
        let wasUnsure = now >= lease.deadline
        lease.deadline = max(lease.deadline, sent + min(ttl, configuration.ttl))
        self.lease = lease
        nextRenewal = max(sent + configuration.renewal, now)
        guard now < lease.deadline else { return [] }
        (silentRounds, nextQuestion) = (0, .distantPast)
        if wasUnsure { sureSince = now }
        return wasUnsure ? [.relist] : []
    }

    mutating func renewalFailed(lease id: Int64, at now: BootInstant) {
        guard lease?.id == id else { return }
        isRenewing = false
        nextRenewal = now + min(configuration.retry, configuration.renewal) / 2
    }

    mutating func leaseGone(lease id: Int64, at now: BootInstant) {
        guard phase == .registered, lease?.id == id else { return }
        isRenewing = false
        lose(at: now)
    }

    /// The lease has ended although this node lives: it registers anew at once and claims its rooms. Peers are asked only
    /// if that takes longer than a second.
    private mutating func lose(at now: BootInstant) {
        phase = .lost
        lease = nil
        nextRegistration = now
        nextQuestion = now + configuration.questions
    }

    // MARK: The watch

    /// The watch, or a listing, shows this node's own record.
    mutating func sawOwnKey(incarnation: String, revision: Int64, at now: BootInstant) -> [Action] {
        guard incarnation != self.incarnation, phase == .registered, let lease, revision > lease.revision else {
            return []
        }
        return displaced(at: now)
    }

    /// The watch, or a listing, shows that the node's record has gone.
    mutating func sawOwnKeyGone(revision: Int64, at now: BootInstant) {
        guard phase == .registered, let lease, revision > lease.revision else { return }
        lose(at: now)
    }

    // MARK: Peers

    /// - Parameters:
    ///   - asked: how many were asked.
    ///   - answers: of those that answered.
    mutating func answers(_ answers: [AliveAnswer], asked: Int, at now: BootInstant) -> [Action] {
        isAsking = false
        guard phase == .lost || (phase == .registered && now >= deadline) else { return [] }
        if asked > 0 { silentRounds = answers.isEmpty ? silentRounds + 1 : 0 }
        // A peer that has not yet seen this registration cannot tell that it is gone.
        let registration = lease?.revision ?? 0
        let isGone = answers.contains { answer in
            answer.standing == .sure && answer.isFollowing && answer.revision >= registration
                && answer.nodes[id] != incarnation
                && answer.sureFor.map { $0 >= configuration.fencing.inSeconds } ?? true
        }
        guard isGone else { return [] }
        (phase, lease) = (.fenced, nil)
        silentRounds = 0
        nextRegistration = isRegistering ? nextRegistration : now
        return [.loseAll]
    }
}
