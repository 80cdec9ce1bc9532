import Basics

/// A lite agent's own checks. RFC 8445 §2.5 asks none of it, and so has nothing against a participant who sends
/// authentic checks from a forged address and has us flood who lives there (§19.5). So media moves to another IP
/// address only after a check of ours was answered from there, by who holds the peer's password.
///
/// - Another port of the same address is taken at once: a NAT that forgets a mapping gives another port, and who shares
///   the address shares the link, which its owner can fill anyway.
/// - The first address is taken at once too, but is sent no more than three times what came from it (RFC 9000 §8.1),
///   until a check was answered there or DTLS is connected: the peer's Finished depends on what only that address was
///   sent.
/// - TCP needs no check: its handshake was one.
/// - A peer that never answers stays on its old path. When that is dead it may move, within the same three times.
extension ICEAgent {
    /// What an authentic request or answer on `flow` has shown.
    func claim(on flow: Flow) -> FlowClaim {
        guard let index = index(of: flow), paths[index].isValidated else { return .none }
        return paths[index].isAnswered ? .answered : .checked
    }

    /// Whether somebody at `ip` has answered us as the peer.
    func isAnswered(_ ip: IPAddress) -> Bool { paths.contains { $0.isAnswered && $0.flow.remote.ip == ip } }

    /// The peer is to get its media on this path: now, or once it has answered there.
    mutating func prefer(_ index: Int) {
        let flow = paths[index].flow
        let ip = flow.remote.ip
        guard mode == .lite, let selected, selected.remote.ip != ip, !isAnswered(ip) else { return select(flow) }
        preferred = flow
    }

    /// DTLS is connected. Where all of its flights went to one address this was an answer from there.
    mutating func handshakeCompleted() {
        guard !hasMoved, let index = selected.flatMap({ self.index(of: $0) }) else { return }
        paths[index].isAnswered = true
    }

    // MARK: What may be sent

    /// Whether `bytes` may go to the selected path, which they then do: always once its address has answered.
    mutating func maySend(_ bytes: Int) -> Bool {
        guard mode == .lite, let ip = selected?.remote.ip, !isAnswered(ip) else { return true }
        // Both sides of the account go with the path, so that leaving and coming back begins none anew.
        var left = -bytes
        for path in paths where path.flow.remote.ip == ip {
            left += path.received.saturatingMultiplied(by: configuration.unansweredFactor) - path.sentUnanswered
        }
        guard left >= 0, let index = selected.flatMap({ self.index(of: $0) }) else { return false }
        paths[index].sentUnanswered += bytes
        return true
    }

    /// So much came on a path that is worth an answer but proves nothing: a handshake.
    mutating func noteBytes(_ bytes: Int, on flow: Flow) {
        guard let index = index(of: flow) else { return }
        paths[index].received += bytes
    }

    // MARK: Checks

    /// After an authentic request on a path that has not answered yet.
    mutating func checkPath(_ index: Int, at now: Instant) {
        guard mode == .lite, !paths[index].isAnswered else { return }
        switch paths[index].check {
        case .running, .succeeded: return
        case .waiting(let since) where since > now: return
        case .waiting, .none: break
        }
        startCheck(index, nominating: false, at: now)
    }

    /// Sends checks again that were not answered, and gives a dead path up for one that is preferred.
    mutating func runPathChecks(at now: Instant) {
        for index in paths.indices { repeatCheck(index, attempts: configuration.pathCheckAttempts, at: now) }
        if let due = fallback, due <= now, let preferred { select(preferred) }
    }

    /// When the selected path counts as dead, so that the preferred one is taken without an answer.
    private var fallback: Instant? {
        guard preferred != nil, let index = selected.flatMap({ self.index(of: $0) }) else { return nil }
        return max(paths[index].lastAlive, paths[index].lastMedia ?? .distantPast) + configuration.interruptedAfter
    }

    var nextPathDeadline: Instant? {
        var deadline = fallback
        func consider(_ other: Instant) { deadline = min(deadline ?? other, other) }
        for path in paths {
            if case .running(let transaction) = path.check { consider(transaction.nextSend) }
            if path.flow == selected { consider(path.lastAlive + configuration.consentTimeout) }
        }
        return deadline
    }

    /// A response; whether it answers our check of this path. Without the peer's password it proves nothing: a public
    /// STUN server answers anybody. A refusal with it is an answer as well.
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
        if let preferred, preferred.remote.ip == flow.remote.ip, let index = self.index(of: preferred) {
            // What was decided a round trip ago is decided again: the media may have gone on elsewhere meanwhile.
            if paths[index].isNominated { nominated(index, at: now) } else { prefer(index) }
        }
        return true
    }
}
