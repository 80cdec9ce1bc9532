import Basics

/// Answers to checks (RFC 8445 §7.3, RFC 8489 §6.3 and §9.1.3).
extension ICEAgent {
    /// Takes a request; true if it was authentic and was answered.
    mutating func handleRequest(_ request: STUNMessage, _ bytes: UnsafeRawBufferPointer, _ flow: Flow, at now: Instant)
        -> Bool
    {
        guard !isExpired else { return ignored() }
        guard let username = request.username, request.integrityOffset != nil else {
            return refuse(request, flow, code: 400, password: nil, at: now)
        }
        let ufrag = username.utf8.firstIndex(of: UInt8(ascii: ":")).map { username[..<$0] } ?? Substring(username)
        // A fragment that is not ours gets no answer at all, so that guessing reveals nothing.
        guard let credentials = [local, previousLocal].lazy.compactMap({ $0 }).first(where: { $0.ufrag == ufrag })
        else {
            return ignored()
        }
        guard request.isAuthentic(bytes, password: credentials.password) else {
            return refuse(request, flow, code: 401, password: nil, at: now)
        }
        guard request.unknownAttributes.isEmpty else {
            return refuse(request, flow, code: 420, password: credentials.password, at: now)
        }
        guard request.priority != nil else {
            return refuse(request, flow, code: 400, password: credentials.password, at: now)
        }
        guard !hasRoleConflict(request, at: now) else {
            return refuse(request, flow, code: 487, password: credentials.password, at: now)
        }
        guard allowsReply(flow, refusal: false, at: now) else { return ignored() }

        if credentials == local { retirePreviousCredentials() }
        var response = STUNMessage(.success, transaction: request.transaction)
        response.xorMappedAddress = SocketAddress(flow.remote.ip.unmapped, port: flow.remote.port)
        send(response.encoded(password: credentials.password), flow)
        consent(at: now)
        guard let index = noteRequest(request, flow, at: now) else { return false }
        paths[index].received += bytes.count
        checkPath(index, at: now)
        if request.useCandidate, isControlled { nominated(index, at: now) }
        return true
    }

    private mutating func ignored() -> Bool {
        ignore()
        return false
    }

    /// RFC 8445 §7.3.1.1. A lite agent is always controlled; otherwise the agent with the larger tie-breaker controls.
    private mutating func hasRoleConflict(_ request: STUNMessage, at now: Instant) -> Bool {
        if mode == .lite { return request.iceControlled != nil }
        if isControlling, let theirs = request.iceControlling {
            if tieBreaker >= theirs { return true }
            switchRole(controlling: false, at: now)
        } else if !isControlling, let theirs = request.iceControlled {
            if tieBreaker < theirs { return true }
            switchRole(controlling: true, at: now)
        }
        return false
    }

    private mutating func refuse(_ request: STUNMessage, _ flow: Flow, code: Int, password: String?, at now: Instant)
        -> Bool
    {
        ignore()
        guard allowsReply(flow, refusal: true, at: now) else { return false }
        var response = STUNMessage(.failure, transaction: request.transaction)
        response.errorCode = code
        if code == 420 { response.unknownAttributes = request.unknownAttributes }
        send(response.encoded(password: password), flow)
        return false
    }

    /// The path of an authentic request; adds it (a peer-reflexive candidate) if it is new.
    private mutating func noteRequest(_ request: STUNMessage, _ flow: Flow, at now: Instant) -> Int? {
        if let index = index(of: flow) {
            paths[index].isValidated = true
            paths[index].lastAlive = now
            return index
        }
        let limit = mode == .lite ? configuration.pathLimit : configuration.pairLimit
        if paths.count >= limit {
            let spare = paths.indices.filter { paths[$0].flow != selected }
            guard let oldest = spare.min(by: { paths[$0].lastAlive < paths[$1].lastAlive }) else { return nil }
            paths.remove(at: oldest)
        }
        var path = ICEPath(flow: flow, lastAlive: now, created: now)
        path.isValidated = true
        path.isAnswered = flow.transport == .tcp
        if mode == .controlling {
            // A triggered check (RFC 8445 §7.3.1.4).
            path.priority = UInt64(request.priority ?? 0)
            path.check = .waiting(since: now)
            nextCheck = min(nextCheck ?? now, now)
        }
        paths.append(path)
        return paths.count - 1
    }

    /// Takes a nomination (USE-CANDIDATE). Chrome repeats it in every check of the pair that it uses, Firefox sends it
    /// once on every pair that it checks: so a nomination wins, unless authentic media keeps coming on the nominated
    /// flow that is in use.
    mutating func nominated(_ index: Int, at now: Instant) {
        paths[index].isNominated = true
        let flow = paths[index].flow
        guard selected != flow else {
            preferred = nil
            return
        }
        guard let current = selected.flatMap({ self.index(of: $0) }), paths[current].isNominated else {
            return prefer(index)
        }
        let age = paths[current].lastMedia.map { now - $0 }
        if let age, age < configuration.mediaKeepsSelection,
            (paths[index].lastMedia ?? .distantPast) <= (paths[current].lastMedia ?? .distantPast)
        {
            return
        }
        prefer(index)
    }
}
