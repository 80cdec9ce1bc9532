import Basics

/// DATA out: fragments, acknowledgements, congestion, retransmission, giving up.
extension SCTPAssociation {
    /// The bytes of payload in one DATA chunk.
    var fragmentSize: Int { (configuration.packetSize - 28) & ~3 }

    /// Streams that one RE-CONFIG or FORWARD-TSN names: as many as there are channels, and they fit into a packet.
    static let mostNamedStreams = 256
    /// Messages whose time is over are looked for so often at most: that is a walk over all that is held.
    static let expiryInterval = Duration.milliseconds(10)

    /// What a message costs in the send buffer.
    static func cost(_ bytes: Int) -> Int { bytes + SCTPReassembly.bookkeeping }

    /// False when the buffer is full or the association is over. An empty payload does not exist in SCTP.
    func send(_ payload: [UInt8], ppid: UInt32, stream: UInt16, _ reliability: SCTPReliability, at now: Instant) -> Bool {
        guard state != .closed, state != .shutdownSent, !payload.isEmpty,
            buffered + Self.cost(payload.count) <= configuration.sendBuffer
        else {
            statistics.refusedMessages += 1
            return false
        }
        buffered += Self.cost(payload.count)
        let expires = reliability.lifetime.map { now + $0 }
        pending.append(
            Pending(id: nextMessage, stream: stream, ppid: ppid, payload: payload, reliability: reliability, expires: expires))
        nextMessage += 1
        unfinished[stream, default: 0] += 1
        if let expires { lookForExpired(at: expires) }
        flush(at: now)
        return true
    }

    private func finished(_ stream: UInt16) {
        let left = (unfinished[stream] ?? 1) - 1
        unfinished[stream] = left > 0 ? left : nil
    }

    private func lookForExpired(at time: Instant) {
        expiryAt = max(min(expiryAt ?? time, time), lastExpiry + Self.expiryInterval)
    }

    /// Moves a chunk from one state to another, with the sums that depend on it.
    private func mark(_ index: Int, _ state: Outgoing.State) {
        let (old, size) = (outstanding[index].state, outstanding[index].data.payload.count)
        guard old != state, old != .abandoned else { return }
        if old == .inFlight { flight -= size }
        if old == .waiting { waiting -= 1 }
        switch state {
        case .inFlight: flight += size
        case .waiting:
            let tsn = outstanding[index].data.tsn
            if waiting == 0 || serialLess(tsn, firstWaiting) { firstWaiting = tsn }
            waiting += 1
        case .abandoned:
            finished(outstanding[index].data.stream)
            mayForward = true
        case .acknowledged: break
        }
        outstanding[index].state = state
    }

    func flush(at now: Instant) {
        guard state == .established || state == .shutdownSent else { return }
        abandonExpired(at: now)
        forwardAbandoned()
        if resetRequest == nil { beginReset(at: now) }
        var chunks: [SCTPChunk] = []
        var size = 12
        let answers = (sackNow ? [sack()] : []) + control
        control = []
        for chunk in answers {
            // A peer that asks much at once gets several packets, not one that DTLS cannot carry.
            let length = Self.size(chunk)
            if size + length > configuration.packetSize, !chunks.isEmpty {
                emit(chunks)
                chunks = []
                size = 12
            }
            chunks.append(chunk)
            size += length
        }
        func add(_ data: SCTPData) {
            let length = 16 + (data.payload.count + 3) & ~3
            if size + length > configuration.packetSize, !chunks.isEmpty {
                emit(chunks)
                chunks = []
                size = 12
            }
            chunks.append(.data(data))
            size += length
        }
        sendAgain(at: now, add)
        while waiting == 0, let message = pending.first {
            let count = min(fragmentSize, message.payload.count - message.offset)
            guard flight == 0 || (flight < congestionWindow && flight + count <= peerWindow) else { break }
            if message.offset == 0, !message.reliability.unordered {
                let ssn = outboundSSN[message.stream, default: 0]
                pending[0].ssn = ssn
                outboundSSN[message.stream] = ssn &+ 1
            }
            let end = message.offset + count
            let data = SCTPData(
                tsn: nextTSN, stream: message.stream, ssn: pending[0].ssn, ppid: message.ppid,
                unordered: message.reliability.unordered, begins: message.offset == 0, ends: end == message.payload.count,
                payload: Array(message.payload[message.offset..<end]))
            nextTSN &+= 1
            outstanding.append(
                Outgoing(
                    data: data, message: message.id, reliability: message.reliability, expires: message.expires, sentAt: now))
            if measured == nil { measured = (data.tsn, now) }
            flight += count
            unfinished[message.stream, default: 0] += 1
            add(data)
            if data.ends {
                finished(message.stream)
                _ = pending.popFirst()
            } else {
                pending[0].offset = end
            }
        }
        if !chunks.isEmpty { emit(chunks) }
        if outstanding.isEmpty { dataAt = nil } else if dataAt == nil { dataAt = now + retransmissionTimeout }
    }

    private func sendAgain(at now: Instant, _ add: (SCTPData) -> Void) {
        guard waiting > 0, flight == 0 || flight < congestionWindow else { return }
        var index = Int(max(0, Int32(bitPattern: firstWaiting &- acknowledgedTSN &- 1)))
        while waiting > 0, index < outstanding.count {
            defer { index += 1 }
            guard outstanding[index].state == .waiting else { continue }
            let data = outstanding[index].data
            firstWaiting = data.tsn
            // One packet may always go: it probes a closed window (RFC 9260 §6.1 A).
            guard flight == 0 || flight + data.payload.count <= congestionWindow else { return }
            mark(index, .inFlight)
            outstanding[index].transmissions += 1
            outstanding[index].missed = 0
            outstanding[index].sentAt = now
            if measured?.tsn == data.tsn { measured = nil }
            add(data)
        }
    }

    private static func size(_ chunk: SCTPChunk) -> Int {
        var bytes: [UInt8] = []
        chunk.encode(into: &bytes)
        return bytes.count
    }

    func acknowledge(_ sack: SCTPSack, at now: Instant) {
        // Nothing that was not sent, nothing older than what is known.
        guard !serialLess(sack.cumulative, acknowledgedTSN), serialLess(sack.cumulative, nextTSN) else { return }
        let before = flight
        var newly = 0
        let advanced = sack.cumulative != acknowledgedTSN
        var highest: UInt32?
        while let chunk = outstanding.first, !serialLess(sack.cumulative, chunk.data.tsn) {
            if chunk.state != .acknowledged { newly += chunk.data.payload.count }
            buffered -= chunk.data.ends ? Self.cost(chunk.data.payload.count) : chunk.data.payload.count
            measure(chunk.data.tsn, at: now)
            if chunk.state != .abandoned { finished(chunk.data.stream) }
            mark(0, .acknowledged)
            _ = outstanding.popFirst()
        }
        acknowledgedTSN = sack.cumulative
        if serialLess(forwardedTSN, acknowledgedTSN) { forwardedTSN = acknowledgedTSN }
        // TSNs are consecutive, so an offset is an index. Blocks rise, or what they say again is passed over.
        var index = 0
        for gap in sack.gaps {
            index = max(index, Int(gap.lowerBound) - 1)
            while index < min(Int(gap.upperBound), outstanding.count) {
                let state = outstanding[index].state
                if state == .inFlight || state == .waiting {
                    mark(index, .acknowledged)
                    newly += outstanding[index].data.payload.count
                    measure(outstanding[index].data.tsn, at: now)
                    highest = outstanding[index].data.tsn
                }
                index += 1
            }
        }
        if advanced || highest != nil { mayForward = true }
        // A closed window that answers its probes is alive (RFC 9260 §6.1 A).
        if newly > 0 || advanced || sack.window == 0 { errors = 0 }
        grow(by: newly, advanced: advanced, flight: before)
        if let exit = recoveryExit, !serialLess(acknowledgedTSN, exit) { recoveryExit = nil }
        if let highest { countMissing(below: highest) }
        peerWindow = Int(sack.window)
        if advanced { dataAt = outstanding.isEmpty ? nil : now + retransmissionTimeout }
        if state == .established { heartbeatAt = now + Self.heartbeatInterval }
    }

    private func grow(by bytes: Int, advanced: Bool, flight: Int) {
        guard advanced, recoveryExit == nil else { return }
        if congestionWindow <= slowStartThreshold {
            if flight + configuration.packetSize >= congestionWindow {
                congestionWindow += min(bytes, configuration.packetSize)
            }
        } else {
            partiallyAcknowledged += bytes
            if partiallyAcknowledged >= congestionWindow, flight + configuration.packetSize >= congestionWindow {
                partiallyAcknowledged -= congestionWindow
                congestionWindow += configuration.packetSize
            }
        }
        congestionWindow = min(congestionWindow, configuration.sendBuffer)
    }

    /// Three reports that newer chunks came are a loss (RFC 9260 §7.2.4).
    private func countMissing(below highest: UInt32) {
        var lost = false
        for index in outstanding.indices {
            guard serialLess(outstanding[index].data.tsn, highest) else { break }
            guard outstanding[index].state == .inFlight else { continue }
            outstanding[index].missed += 1
            if outstanding[index].missed == 3 {
                lost = true
                lose(index)
            }
        }
        guard lost, recoveryExit == nil else { return }
        slowStartThreshold = max(congestionWindow / 2, 4 * configuration.packetSize)
        congestionWindow = slowStartThreshold
        partiallyAcknowledged = 0
        recoveryExit = nextTSN &- 1
    }

    func timedOut(at now: Instant) {
        dataAt = nil
        guard !outstanding.isEmpty else { return }
        // A closed window that still acknowledges its probes clears this count.
        failed()
        guard state != .closed else { return }
        slowStartThreshold = max(congestionWindow / 2, 4 * configuration.packetSize)
        congestionWindow = configuration.packetSize
        partiallyAcknowledged = 0
        recoveryExit = nil
        measured = nil
        retransmissionTimeout = min(retransmissionTimeout * 2, Self.longestTimeout)
        for index in outstanding.indices where outstanding[index].state == .inFlight { lose(index) }
        // A FORWARD-TSN may have been lost too.
        forwardedTSN = acknowledgedTSN
        mayForward = true
    }

    private func lose(_ index: Int) {
        if let limit = outstanding[index].reliability.retransmissions, peerForwards,
            outstanding[index].transmissions > limit
        {
            abandon(at: index)
        } else {
            mark(index, .waiting)
        }
    }

    private func measure(_ tsn: UInt32, at now: Instant) {
        guard let measured, measured.tsn == tsn else { return }
        self.measured = nil
        let sample = now - measured.at
        if let smoothed = smoothedRoundTrip {
            let difference = sample > smoothed ? sample - smoothed : smoothed - sample
            roundTripVariation = roundTripVariation * 3 / 4 + difference / 4
            smoothedRoundTrip = smoothed * 7 / 8 + sample / 8
        } else {
            smoothedRoundTrip = sample
            roundTripVariation = sample / 2
        }
        let timeout = (smoothedRoundTrip ?? sample) + roundTripVariation * 4
        retransmissionTimeout = min(max(timeout, Self.shortestTimeout), Self.longestTimeout)
    }

    // MARK: - Partial reliability

    private func abandonExpired(at now: Instant) {
        guard let due = expiryAt, due <= now else { return }
        expiryAt = nil
        lastExpiry = now
        guard peerForwards else { return }
        var next = Instant.distantFuture
        for index in outstanding.indices {
            guard let expires = outstanding[index].expires else { continue }
            switch outstanding[index].state {
            case .acknowledged, .abandoned: continue
            case .inFlight, .waiting: if expires <= now { abandon(at: index) } else { next = min(next, expires) }
            }
        }
        pending.removeAll { message in
            guard let expires = message.expires, message.offset == 0 else { return false }
            guard expires <= now else {
                next = min(next, expires)
                return false
            }
            buffered -= Self.cost(message.payload.count)
            finished(message.stream)
            return true
        }
        if next < .distantFuture { lookForExpired(at: next) }
    }

    /// Gives up the message of a chunk: its chunks stand side by side, and what of it is not sent yet comes next.
    private func abandon(at index: Int) {
        let message = outstanding[index].message
        if let first = pending.first, first.id == message {
            buffered -= Self.cost(first.payload.count - first.offset)
            finished(first.stream)
            _ = pending.popFirst()
        }
        var start = index
        while start > 0, outstanding[start - 1].message == message { start -= 1 }
        while start < outstanding.count, outstanding[start].message == message {
            mark(start, .abandoned)
            start += 1
        }
    }

    private func forwardAbandoned() {
        guard mayForward else { return }
        mayForward = false
        guard outstanding.first?.state == .abandoned else { return }
        var target = acknowledgedTSN
        var skips: [UInt16: UInt16] = [:]
        for chunk in outstanding {
            guard chunk.state == .abandoned || chunk.state == .acknowledged, skips.count < Self.mostNamedStreams else { break }
            target = chunk.data.tsn
            if chunk.state == .abandoned, !chunk.data.unordered { skips[chunk.data.stream] = chunk.data.ssn }
        }
        guard serialLess(forwardedTSN, target) else { return }
        forwardedTSN = target
        control.append(.forwardTSN(target, skips.map { SCTPSkip(stream: $0.key, ssn: $0.value) }))
    }
}
