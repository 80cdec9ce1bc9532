import Basics

/// Checks of ours as transactions (RFC 8489 §6.2.1): created, sent, and repeated until they are answered or abandoned.
/// Which path to check, and what an answer means, differs between a controlling and a lite agent.
extension ICEAgent {
    /// Sends the first request of a path's check.
    mutating func startCheck(_ index: Int, nominating: Bool, at now: Instant) {
        guard let transaction = makeCheck(nominating: nominating, at: now) else { return }
        send(transaction.bytes, paths[index].flow)
        paths[index].check = .running(transaction)
    }

    /// Repeats the request of a path's check if that is due. False if it was sent `attempts` times without an answer:
    /// then the path pauses.
    @discardableResult
    mutating func repeatCheck(_ index: Int, attempts: Int, at now: Instant) -> Bool {
        guard case .running(var transaction) = paths[index].check, transaction.nextSend <= now else { return true }
        guard transaction.sendings < attempts else {
            paths[index].check = .waiting(since: now + configuration.maximumRetransmission)
            return false
        }
        transaction.sendings += 1
        transaction.interval = min(transaction.interval * 2, configuration.maximumRetransmission)
        transaction.nextSend = now + transaction.interval
        send(transaction.bytes, paths[index].flow)
        paths[index].check = .running(transaction)
        return true
    }

    /// A request that has not been sent yet; nil before the peer's credentials are known.
    mutating func makeCheck(nominating: Bool, at now: Instant) -> ICETransaction? {
        guard let remote else { return nil }
        var request = STUNMessage(.request, transaction: newTransactionID())
        request.username = "\(remote.ufrag):\(local.ufrag)"
        // The priority of a peer-reflexive candidate (RFC 8445 §7.1.1): type preference 110.
        request.priority = 110 << 24 | 65_535 << 8 | 255
        if isControlling { request.iceControlling = tieBreaker } else { request.iceControlled = tieBreaker }
        request.useCandidate = nominating && isControlling
        return ICETransaction(
            id: request.transaction, bytes: request.encoded(password: remote.password), firstSent: now,
            nextSend: now + configuration.firstRetransmission, interval: configuration.firstRetransmission, sendings: 1,
            nominates: request.useCandidate, asControlling: isControlling)
    }
}
