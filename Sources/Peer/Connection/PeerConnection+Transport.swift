public import Basics

extension PeerConnection {
    /// Takes a datagram of the peer; may decrypt it in place. Its results are available with the next `nextEvent`,
    /// `flush` or `nextDeadline`.
    public func receive(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        latestClaim = .none
        guard state != .ended, ice != nil else { return }
        let bytes = UnsafeRawBufferPointer(datagram)
        switch DatagramKind(bytes) {
        case .stun:
            guard allowance.admitsCheck(isKnown: ice?.isValidated(flow) ?? false, at: now) else { return }
            unsettled = now
            ice?.handle(stun: bytes, flow: flow, at: now)
            latestClaim = ice?.latestClaim ?? .none
        case .dtls: receiveHandshake(bytes, flow: flow, at: now)
        case .rtp: receiveEncrypted(datagram, isReport: false, flow: flow, at: now)
        case .rtcp: receiveEncrypted(datagram, isReport: true, flow: flow, at: now)
        case .other: drop()
        }
    }

    private func receiveHandshake(_ bytes: UnsafeRawBufferPointer, flow: Flow, at now: Instant) {
        guard let dtls, ice?.isValidated(flow) == true else { return drop() }
        guard state == .connected ? allowance.admits(bytes: bytes.count, at: now) : allowance.admitsHandshake(at: now)
        else { return }
        unsettled = now
        if dtls.role == .server, state == .connecting { handshakeRate.received(bytes.count, at: now) }
        let before = dtls.authenticRecords
        dtls.receive(bytes, at: now)
        let isAuthentic = dtls.authenticRecords != before
        if isAuthentic { allowance.noteAuthentic(bytes: bytes.count, at: now) }
        // Before nomination the answer must return to the flow that the handshake came from.
        if isAuthentic || ice?.selected == nil {
            ice?.authenticMedia(on: flow, bytes: bytes.count, at: now)
        } else if state == .connecting {
            ice?.noteBytes(bytes.count, on: flow)
        }
        endIfOverBudget(at: now)
    }

    private func receiveEncrypted(
        _ datagram: UnsafeMutableRawBufferPointer, isReport: Bool, flow: Flow, at now: Instant
    ) {
        guard let srtp, ice?.isValidated(flow) == true,
            let ssrc = SourceTable.ssrc(UnsafeRawBufferPointer(datagram), isReport: isReport)
        else { return drop() }
        // The source check comes first: datagrams forged under any SSRC must not use up the allowance of the peer's own
        // packets.
        guard sources.admits(ssrc, at: now) else {
            if sources.isExhausted { allowance.ranOutOfSources() }
            return endIfOverBudget(at: now)
        }
        guard allowance.admits(bytes: datagram.count, at: now) else { return }
        let length =
            isReport
            ? try? srtp.unprotectRTCP(datagram, length: datagram.count)
            : try? srtp.unprotectRTP(datagram, length: datagram.count)
        guard let length else { return }
        unsettled = now
        dtls?.peerHasFinished()
        if let evicted = sources.noteAuthentic(ssrc, at: now) {
            srtp.forget(ssrc: evicted)
            receiver.forget(ssrc: evicted)
        }
        allowance.noteAuthentic(bytes: datagram.count, at: now)
        ice?.authenticMedia(on: flow, bytes: datagram.count, at: now)
        let plain = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(datagram)[..<length])
        if isReport { receiveReports(plain, at: now) } else { receiveMedia(plain, at: now) }
        endIfOverBudget(at: now)
    }

    private func endIfOverBudget(at now: Instant) {
        guard let reason = allowance.verdict, state != .ended else { return }
        close(at: now)
        events.append(.overBudget(reason))
    }

    /// Processes what came since the last time.
    func settle() {
        if let unsettled { drain(at: unsettled) }
    }

    private func drop() { droppedDatagrams &+= 1 }

    /// Takes a decrypted RTP packet.
    func receiveMedia(_ bytes: UnsafeRawBufferPointer, at now: Instant) { receiver.receive(bytes, at: now) }

    /// Takes a decrypted RTCP compound packet.
    func receiveReports(_ bytes: UnsafeRawBufferPointer, at now: Instant) {
        var reader = RTCPReader(bytes.bindMemory(to: UInt8.self).span)
        while allowance.admitsReport(at: now), let packet = reader.next() {
            allowance.spend(report: packet.work, at: now)
            receiver.receive(packet, at: now)
            sender.receive(packet, at: now)
        }
        endIfOverBudget(at: now)
    }

    /// Advances to `now`; events and datagrams may be ready then.
    public func advance(to now: Instant) {
        guard state != .ended else { return }
        ice?.advance(to: now)
        dtls?.advance(to: now)
        channels.advance(to: now)
        if state == .connected {
            sender.advance(to: now)
            receiver.advance(to: now, roundTrip: roundTrip)
        }
        drain(at: now)
    }

    /// The time of the next call of `advance`.
    public func nextDeadline(after now: Instant) -> Instant? {
        settle()
        guard state != .ended else { return nil }
        var deadline = ice?.nextDeadline
        func consider(_ other: Instant?) {
            guard let other else { return }
            deadline = min(deadline ?? other, other)
        }
        consider(dtls?.nextDeadline)
        consider(channels.nextDeadline)
        if state == .connected {
            // Without a path nothing can leave, so packets that wait in the sender need no deadline.
            if ice?.selected != nil { consider(sender.nextDeadline(after: now)) }
            consider(receiver.nextDeadline)
            consider(reports.deadline)
            consider(receiveLimit.deadline)
        }
        return deadline
    }

    var roundTrip: Duration { sender.estimator.roundTrip }

    /// Passes on everything that is ready between the parts until nothing is left.
    func drain(at now: Instant) {
        unsettled = nil
        drainPath(at: now)
        drainDTLS(at: now)
        drainChannels(at: now)
        guard state == .connected else { return }
        pump(at: now)
        for packet in receiver.takeAudio() { events.append(.audio(packet)) }
        for frame in receiver.takeFrames() { events.append(.video(frame)) }
        for frame in receiver.takeScreenFrames() { events.append(.screen(frame)) }
        sendFeedback(at: now)
        sendReports(at: now)
        noteKeyframeRequest()
        announceEstimate(at: now)
    }

    private func drainPath(at now: Instant) {
        while let event = ice?.nextEvent() {
            switch event {
            case .selected:
                if state == .connecting {
                    milestones.path = milestones.path ?? now
                    dtls?.start(at: now)
                }
            case .interrupted: events.append(.interrupted(since: ice?.lastReceived ?? now))
            case .recovered: events.append(.recovered)
            case .oldCredentialsExpired: noteUfrags()
            case .expired: fail("the peer did not answer for \(Int(configuration.ice.consentTimeout.inSeconds)) s")
            }
        }
        while let (bytes, flow) = ice?.nextTransmit() { arena.append(bytes, flow: flow) }
    }

    private func drainDTLS(at now: Instant) {
        while let event = dtls?.nextEvent() {
            switch event {
            case .connected(let keys): connected(keys, at: now)
            case .data(let bytes): channels.receive(bytes, at: now)
            case .closed:
                guard state != .ended else { continue }
                state = .ended
                events.append(.closed)
            case .failed(let reason): fail(reason)
            }
        }
        sendDTLS()
    }

    /// The flow for a datagram of so many bytes; nil if there is none, or if the address has not sent enough to be sent
    /// that much.
    func flow(for bytes: Int) -> Flow? {
        guard let flow = ice?.selected else { return nil }
        guard ice?.maySend(bytes) == true else {
            unansweredDatagrams &+= 1
            return nil
        }
        return flow
    }

    private func sendDTLS() {
        while let bytes = dtls?.nextTransmit() {
            guard let flow = flow(for: bytes.count) else { continue }
            arena.append(bytes, flow: flow)
            if state == .connecting { handshakeRate.sent(bytes.count) }
        }
    }

    func drainChannels(at now: Instant) {
        while let bytes = channels.nextTransmit() { dtls?.send(bytes) }
        sendDTLS()
        while let event = channels.nextEvent() { events.append(event) }
    }

    private func connected(_ keys: SRTPKeys, at now: Instant) {
        guard state == .connecting else { return }
        do {
            srtp = try SRTPContext(keys)
        } catch {
            fail("the media keys were refused: \(error)")
            return
        }
        state = .connected
        milestones.connected = now
        ice?.handshakeCompleted()
        sender.start(
            at: now, handshake: milestones.path.map { now - $0 },
            shown: handshakeRate.rate(path: ice?.roundTripTime, at: now))
        reports.start(at: now)
        receiveLimit.start(at: now)
        startChannels(at: now)
        events.append(.connected)
    }

    func startChannels(at now: Instant) {
        guard let dtls else { return }
        channels.start(role: dtls.role, at: now)
    }

    /// Sends a BYE and ends; flush once more afterwards.
    public func close(at now: Instant) {
        guard state != .ended else { return }
        if state == .connected {
            let ssrcs = sender.activeSSRCs
            if !ssrcs.isEmpty {
                sendReport([.receiverReport(ReceiverReport(ssrc: ssrcs[0])), .goodbye(Goodbye(ssrcs: ssrcs))])
            }
        }
        dtls?.close()
        sendDTLS()
        state = .ended
    }
}
