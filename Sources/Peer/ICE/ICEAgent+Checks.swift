package import Basics

/// Checks, nomination and consent of a controlling agent (RFC 8445 §6 to §8, RFC 7675).
extension ICEAgent {
    /// Adds a path: the caller opened `flow` to a passive TCP candidate of the peer.
    package mutating func addFlow(_ flow: Flow, for candidate: Candidate, at now: Instant) {
        guard mode == .controlling else { return }
        addPath(flow, remotePriority: candidate.priority, at: now)
    }

    mutating func addPairs(with candidate: Candidate, at now: Instant) {
        guard candidate.transport == .udp, let remote = candidate.socketAddress else { return }
        for (preference, address) in localAddresses.enumerated() where Self.sameFamily(address.ip, remote.ip) {
            addPath(
                Flow(.udp, local: address, remote: remote), remotePriority: candidate.priority, preference: preference,
                at: now)
        }
    }

    private mutating func addPath(_ flow: Flow, remotePriority: UInt32, preference: Int = 0, at now: Instant) {
        guard paths.count < configuration.pairLimit, index(of: flow) == nil else { return }
        var path = ICEPath(flow: flow, lastAlive: now, created: now)
        // RFC 8445 §6.1.2.3 with us controlling: G is our priority, D theirs.
        let ours = UInt64(Candidate.host(flow.local, transport: flow.transport, preference: preference).priority)
        let theirs = UInt64(remotePriority)
        path.priority = min(ours, theirs) << 32 &+ 2 &* max(ours, theirs) &+ (ours > theirs ? 1 : 0)
        path.check = .waiting(since: now)
        paths.append(path)
        if remote != nil { nextCheck = min(nextCheck ?? now, now) }
    }

    private static func sameFamily(_ a: IPAddress, _ b: IPAddress) -> Bool {
        switch (a, b) {
        case (.v4, .v4), (.v6, .v6): true
        default: false
        }
    }

    mutating func switchRole(controlling: Bool, at now: Instant) {
        isControlling = controlling
        for index in paths.indices { paths[index].isNominated = false }
        checkAgain(at: now)
    }

    /// Puts every pair back in the queue.
    mutating func checkAgain(at now: Instant) {
        for index in paths.indices { paths[index].check = .waiting(since: now) }
        nextCheck = now
    }

    // MARK: The schedule

    var nextCheckDeadline: Instant? {
        guard mode == .controlling, remote != nil else { return nil }
        var deadline: Instant?
        func consider(_ instant: Instant) { deadline = min(deadline ?? instant, instant) }
        for path in paths {
            switch path.check {
            case .waiting(let since): consider(max(since, nextCheck ?? since))
            case .running(let transaction): consider(transaction.nextSend)
            case .succeeded, .none: break
            }
            if let consent = path.nextConsent { consider(consent) }
        }
        if needsNomination, let firstSuccess { consider(firstSuccess + configuration.nominationDelay) }
        if let failure = selectedFailure { consider(failure) }
        return deadline
    }

    /// When the selected pair counts as broken if nothing comes on it: consent of other pairs says nothing about it.
    private var selectedFailure: Instant? {
        guard isControlling, let index = selected.flatMap({ self.index(of: $0) }), paths[index].isNominated,
            case .succeeded = paths[index].check
        else { return nil }
        return max(paths[index].lastAlive, paths[index].lastMedia ?? .distantPast) + configuration.interruptedAfter
    }

    /// Whether a pair has answered and none is nominated or about to be.
    private var needsNomination: Bool {
        guard isControlling, paths.contains(where: { if case .succeeded = $0.check { true } else { false } }) else {
            return false
        }
        return !paths.contains { path in
            if case .running(let transaction) = path.check, transaction.nominates { return true }
            if case .succeeded = path.check { return path.isNominated }
            return false
        }
    }

    mutating func runChecks(at now: Instant) {
        guard remote != nil else { return }
        for index in paths.indices {
            // The peer may not know our credentials yet: the pair pauses, then is checked again until consent expires.
            if !repeatCheck(index, attempts: configuration.attempts, at: now) { paths[index].isNominated = false }
            if let consent = paths[index].nextConsent, consent <= now { sendConsentCheck(index, at: now) }
        }
        if let failure = selectedFailure, failure <= now, let index = selected.flatMap({ self.index(of: $0) }) {
            // Another pair that still answers is nominated; this one is checked again.
            paths[index].isNominated = false
            paths[index].check = .waiting(since: now)
            nextCheck = min(nextCheck ?? now, now)
        }
        if needsNomination, let firstSuccess { nominateBest(waitedSince: firstSuccess, at: now) }
        if now >= nextCheck ?? now {
            let ready = paths.indices.filter {
                if case .waiting(let since) = paths[$0].check { since <= now } else { false }
            }
            if let index = ready.max(by: { paths[$0].priority < paths[$1].priority }) {
                startCheck(index, nominating: false, at: now)
                nextCheck = now + configuration.pacing
            }
        }
    }

    /// Nominates the best pair that answered: at once if no better one is still being checked.
    private mutating func nominateBest(waitedSince: Instant, at now: Instant) {
        let succeeded = paths.indices.filter { if case .succeeded = paths[$0].check { true } else { false } }
        guard let best = succeeded.max(by: { paths[$0].priority < paths[$1].priority }) else { return }
        let better = paths.contains { path in
            switch path.check {
            case .waiting, .running: path.priority > paths[best].priority
            default: false
            }
        }
        guard !better || now - waitedSince >= configuration.nominationDelay else { return }
        startCheck(best, nominating: true, at: now)
    }

    // MARK: Consent

    private mutating func sendConsentCheck(_ index: Int, at now: Instant) {
        guard let transaction = makeCheck(nominating: paths[index].flow == selected, at: now) else { return }
        send(transaction.bytes, paths[index].flow)
        paths[index].consentChecks.append(transaction)
        if paths[index].consentChecks.count > 12 { paths[index].consentChecks.removeFirst() }
        scheduleConsent(index, at: now)
    }

    private mutating func scheduleConsent(_ index: Int, at now: Instant) {
        // RFC 7675 §5.1: 0.8 to 1.2, so that the checks of thousands of peers do not synchronise.
        let factor = Double.random(in: 0.8...1.2, using: &random)
        paths[index].nextConsent =
            now + .nanoseconds(Int64(saturating: Double(configuration.consentInterval.nanoseconds) * factor))
    }

    // MARK: Responses

    mutating func handleResponse(
        _ response: STUNMessage, _ bytes: UnsafeRawBufferPointer, _ flow: Flow, at now: Instant
    ) {
        // RFC 8445 §7.2.5.2.1: a response counts only on the flow that the check was sent on.
        guard let index = index(of: flow), let remote, response.isAuthentic(bytes, password: remote.password) else {
            return ignore()
        }
        if let position = paths[index].consentChecks.firstIndex(where: { $0.id == response.transaction }) {
            let transaction = paths[index].consentChecks.remove(at: position)
            if response.messageClass == .success { answered(index, transaction, at: now) }
            return
        }
        guard case .running(let transaction) = paths[index].check, transaction.id == response.transaction else {
            return ignore()
        }
        guard response.messageClass == .success else {
            if response.errorCode == 487 {
                // RFC 8445 §7.2.5.1: switch the role, draw a new tie-breaker, and check again.
                tieBreaker = random.next()
                switchRole(controlling: !transaction.asControlling, at: now)
            } else {
                paths[index].check = .waiting(since: now + configuration.maximumRetransmission)
            }
            return
        }
        paths[index].check = .succeeded
        if firstSuccess == nil { firstSuccess = now }
        answered(index, transaction, at: now)
        if transaction.nominates { confirmNomination(index, at: now) }
        if paths[index].nextConsent == nil { scheduleConsent(index, at: now) }
        if isControlled, paths[index].isNominated { select(flow) }
        if needsNomination, let firstSuccess { nominateBest(waitedSince: firstSuccess, at: now) }
    }

    private mutating func answered(_ index: Int, _ transaction: ICETransaction, at now: Instant) {
        paths[index].isValidated = true
        paths[index].lastAlive = now
        consent(at: now)
        sample(transaction, at: now)
    }

    /// Takes the round trip that an answered check shows.
    mutating func sample(_ transaction: ICETransaction, at now: Instant) {
        // Karn: a response to a check that was sent twice gives no round trip.
        guard transaction.sendings == 1 else { return }
        let sample = now - transaction.firstSent
        roundTripTime = roundTripTime.map { $0 * 7 / 8 + sample / 8 } ?? sample
    }

    private mutating func confirmNomination(_ index: Int, at now: Instant) {
        for other in paths.indices { paths[other].isNominated = other == index }
        select(paths[index].flow)
    }
}
