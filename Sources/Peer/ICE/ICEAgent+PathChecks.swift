import Basics

/// A lite agent's own checks. RFC 8445 §2.5 does not require them, and so does not prevent a participant from sending
/// authentic checks from a forged address to make us flood its owner (§19.5). So media moves to another IP address only
/// after a check of ours was answered from there, by a peer that holds the password.
///
/// - Another port of the same address is selected at once: a NAT that forgets a mapping assigns another port, and
///   whoever shares the address shares the link, which its owner can fill anyway.
/// - The first address is selected at once too, but is sent no more than three times what came from it (RFC 9000 §8.1),
///   until a check was answered there or DTLS is connected: the peer's Finished depends on what only that address was
///   sent.
/// - TCP needs no check: its handshake was one.
/// - A peer that never answers stays on its old path. When that is dead it may move, within the same three times.
/// - A peer that sends no checks any more is asked for its consent on the path in use. If it answers none of our checks
///   for `consentTimeout` either, its media keeps the path, within the same three times.
extension ICEAgent {
    /// What an authentic request or answer on `flow` has proved.
    func claim(on flow: Flow) -> FlowClaim {
        guard let index = index(of: flow), paths[index].isValidated else { return .none }
        return paths[index].isAnswered ? .answered : .checked
    }

    /// Whether the peer has answered a check of ours from `ip`.
    func isAnswered(_ ip: IPAddress) -> Bool { paths.contains { $0.isAnswered && $0.flow.remote.ip == ip } }

    /// Selects this path for media: now, or once the peer has answered there.
    mutating func prefer(_ index: Int) {
        let flow = paths[index].flow
        let ip = flow.remote.ip
        guard mode == .lite, let selected, selected.remote.ip != ip, !isAnswered(ip) else { return select(flow) }
        preferred = flow
    }

    /// Records that DTLS is connected. If all of its flights went to one address, that is an answer from there.
    mutating func handshakeCompleted() {
        guard !hasMoved, let index = selected.flatMap({ self.index(of: $0) }) else { return }
        paths[index].isAnswered = true
    }

    // MARK: Amplification limit

    /// Whether `bytes` may be sent on the selected path, which they then are: always once its address has answered.
    mutating func maySend(_ bytes: Int) -> Bool {
        guard mode == .lite, let ip = selected?.remote.ip, !isAnswered(ip) else { return true }
        // Both counters belong to the path, so that leaving it and returning does not reset them.
        var left = -bytes
        for path in paths where path.flow.remote.ip == ip {
            left += path.received.saturatingMultiplied(by: configuration.unansweredFactor) - path.sentUnanswered
        }
        guard left >= 0, let index = selected.flatMap({ self.index(of: $0) }) else { return false }
        paths[index].sentUnanswered += bytes
        return true
    }

    /// Counts bytes on a path that deserve an answer but prove nothing: a handshake.
    mutating func noteBytes(_ bytes: Int, on flow: Flow) {
        guard let index = index(of: flow) else { return }
        paths[index].received += bytes
    }

    // MARK: Checks

    /// Checks a path that has not answered yet, after an authentic request on it.
    mutating func checkPath(_ index: Int, at now: Instant) {
        guard mode == .lite, !paths[index].isAnswered else { return }
        switch paths[index].check {
        case .running, .succeeded: return
        case .waiting(let since) where since > now: return
        case .waiting, .none: break
        }
        startCheck(index, nominating: false, at: now)
    }

    /// Repeats checks that were not answered, asks for consent, and leaves a dead path for a preferred one.
    mutating func runPathChecks(at now: Instant) {
        if let due = consentCheckDeadline, due <= now, let index = selected.flatMap({ self.index(of: $0) }) {
            startCheck(index, nominating: false, at: now)
        }
        for index in paths.indices { repeatCheck(index, attempts: configuration.pathCheckAttempts, at: now) }
        if let due = fallback, due <= now, let preferred { select(preferred) }
    }

    /// When the selected path counts as dead, so that the preferred one is selected without an answer.
    private var fallback: Instant? {
        guard preferred != nil, let index = selected.flatMap({ self.index(of: $0) }) else { return nil }
        return paths[index].lastSign + configuration.interruptedAfter
    }

    /// When to ask for consent on the path in use, as a full agent does (RFC 7675 §5.1): a path that has answered, or
    /// that brings media, and on which no check of the peer comes. An address that has done neither gets none of these
    /// checks, since it may be forged.
    private var consentCheckDeadline: Instant? {
        guard remote != nil, let index = selected.flatMap({ self.index(of: $0) }) else { return nil }
        let path = paths[index]
        let due = path.lastAlive + configuration.consentCheckAfter
        guard path.isAnswered || path.lastMedia.map({ $0 >= due }) == true else { return nil }
        switch path.check {
        case .running: return nil
        case .waiting(let since): return max(since, due)
        case .succeeded, .none: return due
        }
    }

    /// Limits what is sent to addresses that answered none of our checks for `consentTimeout`, and from which no check
    /// came either: their media proves that the peer sends from there, not that it receives there.
    mutating func revokeAnswers(at now: Instant) {
        for index in paths.indices
        where paths[index].isAnswered && paths[index].flow.transport == .udp
            && now - paths[index].lastAlive >= configuration.consentTimeout
        {
            paths[index].isAnswered = false
            if case .succeeded = paths[index].check { paths[index].check = .none }
            (paths[index].received, paths[index].sentUnanswered) = (0, 0)
        }
    }

    var nextPathDeadline: Instant? {
        var deadline = fallback
        func consider(_ other: Instant) { deadline = min(deadline ?? other, other) }
        if let due = consentCheckDeadline { consider(due) }
        for path in paths {
            if case .running(let transaction) = path.check { consider(transaction.nextSend) }
            if path.flow == selected { consider(path.lastSign + configuration.consentTimeout) }
        }
        return deadline
    }

    /// Takes a response; true if it answers our check of this path. Without the peer's password it proves nothing: a
    /// public STUN server answers anybody. A refusal with the password is an answer as well.
    mutating func handleAnswer(_ response: STUNMessage, _ bytes: UnsafeRawBufferPointer, _ flow: Flow, at now: Instant)
        -> Bool
    {
        guard let index = index(of: flow), case .running(let transaction) = paths[index].check,
            transaction.id == response.transaction,
            let remote, response.isAuthentic(bytes, password: remote.password)
        else {
            ignore()
            return false
        }
        paths[index].check = .succeeded
        paths[index].isAnswered = true
        paths[index].lastAlive = now
        consent(at: now)
        sample(transaction, at: now)
        if let preferred, preferred.remote.ip == flow.remote.ip, let index = self.index(of: preferred) {
            // The decision of a round trip ago is made again: the media may have moved to another path meanwhile.
            if paths[index].isNominated { nominated(index, at: now) } else { prefer(index) }
        }
        return true
    }
}
