import Basics

/// DATA out: fragments, acknowledgements, congestion, retransmission, giving up; and stream resets.
extension SCTPAssociation {
    /// The bytes of payload in one DATA chunk.
    var fragmentSize: Int { (configuration.packetSize - 28) & ~3 }

    /// False when the buffer is full or the association is over. An empty payload does not exist in SCTP.
    func send(_ payload: [UInt8], ppid: UInt32, stream: UInt16, _ reliability: SCTPReliability, at now: Instant) -> Bool {
        guard state != .closed, state != .shutdownSent, !payload.isEmpty, buffered + payload.count <= configuration.sendBuffer
        else { return false }
        buffered += payload.count
        pending.append(
            Pending(
                id: nextMessage, stream: stream, ppid: ppid, payload: payload, reliability: reliability,
                expires: reliability.lifetime.map { now + $0 }))
        nextMessage += 1
        flush(at: now)
        return true
    }

    var flight: Int { outstanding.reduce(0) { $1.inFlight ? $0 + $1.data.payload.count : $0 } }

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
        var inFlight = flight
        for index in outstanding.indices where outstanding[index].waiting {
            // One packet may always go: it probes a closed window (RFC 9260 §6.1 A).
            guard inFlight == 0 || inFlight + outstanding[index].data.payload.count <= congestionWindow else { break }
            outstanding[index].waiting = false
            outstanding[index].transmissions += 1
            outstanding[index].missed = 0
            outstanding[index].sentAt = now
            if measured?.tsn == outstanding[index].data.tsn { measured = nil }
            inFlight += outstanding[index].data.payload.count
            add(outstanding[index].data)
        }
        while var message = pending.first, !outstanding.contains(where: \.waiting) {
            let count = min(fragmentSize, message.payload.count - message.offset)
            guard inFlight == 0 || (inFlight < congestionWindow && inFlight + count <= peerWindow) else { break }
            if message.offset == 0, !message.reliability.unordered {
                message.ssn = outboundSSN[message.stream, default: 0]
                outboundSSN[message.stream] = message.ssn &+ 1
            }
            let end = message.offset + count
            let data = SCTPData(
                tsn: nextTSN, stream: message.stream, ssn: message.ssn, ppid: message.ppid,
                unordered: message.reliability.unordered, begins: message.offset == 0, ends: end == message.payload.count,
                payload: Array(message.payload[message.offset..<end]))
            nextTSN &+= 1
            outstanding.append(
                Outgoing(
                    data: data, message: message.id, reliability: message.reliability, expires: message.expires, sentAt: now))
            if measured == nil { measured = (data.tsn, now) }
            inFlight += count
            add(data)
            message.offset = end
            if data.ends { pending.removeFirst() } else { pending[0] = message }
        }
        if !chunks.isEmpty { emit(chunks) }
        if outstanding.isEmpty { dataAt = nil } else if dataAt == nil { dataAt = now + retransmissionTimeout }
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
            if !chunk.acknowledged { newly += chunk.data.payload.count }
            buffered -= chunk.data.payload.count
            measure(chunk.data.tsn, at: now)
            outstanding.removeFirst()
        }
        acknowledgedTSN = sack.cumulative
        if serialLess(forwardedTSN, acknowledgedTSN) { forwardedTSN = acknowledgedTSN }
        for gap in sack.gaps {
            for offset in gap {
                // TSNs are consecutive, so the offset is the index.
                let index = Int(offset) - 1
                guard outstanding.indices.contains(index) else { break }
                if !outstanding[index].acknowledged {
                    outstanding[index].acknowledged = true
                    outstanding[index].waiting = false
                    newly += outstanding[index].data.payload.count
                    measure(outstanding[index].data.tsn, at: now)
                    highest = outstanding[index].data.tsn
                }
            }
        }
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
            guard outstanding[index].inFlight else { continue }
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
        for index in outstanding.indices where outstanding[index].inFlight { lose(index) }
        // A FORWARD-TSN may have been lost too.
        forwardedTSN = acknowledgedTSN
    }

    private func lose(_ index: Int) {
        if let limit = outstanding[index].reliability.retransmissions, peerForwards,
            outstanding[index].transmissions > limit
        {
            abandon(outstanding[index].message)
        } else {
            outstanding[index].waiting = true
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
        guard peerForwards else { return }
        for message in pending where message.offset == 0 && message.expires.map({ $0 <= now }) == true {
            buffered -= message.payload.count
        }
        pending.removeAll { $0.offset == 0 && $0.expires.map { $0 <= now } == true }
        let expired = Set(
            outstanding.lazy.filter { !$0.abandoned && !$0.acknowledged && $0.expires.map { $0 <= now } == true }.map(\.message))
        for message in expired { abandon(message) }
    }

    private func abandon(_ message: UInt64) {
        if let first = pending.first, first.id == message {
            buffered -= first.payload.count - first.offset
            pending.removeFirst()
        }
        for index in outstanding.indices where outstanding[index].message == message {
            outstanding[index].abandoned = true
            outstanding[index].waiting = false
        }
    }

    private func forwardAbandoned() {
        var target = acknowledgedTSN
        var skips: [UInt16: UInt16] = [:]
        for chunk in outstanding {
            guard chunk.abandoned || chunk.acknowledged else { break }
            target = chunk.data.tsn
            if chunk.abandoned, !chunk.data.unordered { skips[chunk.data.stream] = chunk.data.ssn }
        }
        guard outstanding.first?.abandoned == true, serialLess(forwardedTSN, target) else { return }
        forwardedTSN = target
        control.append(.forwardTSN(target, skips.map { SCTPSkip(stream: $0.key, ssn: $0.value) }))
    }

    // MARK: - Stream reset (RFC 6525)

    func reset(_ stream: UInt16, at now: Instant) {
        resetWanted.insert(stream)
        flush(at: now)
    }

    private func beginReset(at now: Instant) {
        // What was queued before goes first.
        let streams = resetWanted.filter { stream in
            !pending.contains { $0.stream == stream } && !outstanding.contains { $0.data.stream == stream && !$0.abandoned }
        }
        guard !streams.isEmpty else { return }
        resetWanted.subtract(streams)
        resetRequest = (nextRequest, streams.sorted(), nextTSN &- 1)
        nextRequest &+= 1
        sendReset(at: now)
    }

    func sendReset(at now: Instant) {
        guard let resetRequest else { return }
        control.append(
            .reconfig([
                .resetOutgoing(
                    request: resetRequest.number, response: peerRequest &- 1, lastTSN: resetRequest.lastTSN,
                    streams: resetRequest.streams)
            ]))
        resetAt = now + retransmissionTimeout
    }

    func reconfigure(_ parameter: SCTPReconfig) {
        switch parameter {
        case .response(let request, let result):
            guard let pendingReset = resetRequest, pendingReset.number == request else { return }
            errors = 0
            // 6 is "in progress": asked again when the timer says so.
            guard result != 6 else { return }
            resetRequest = nil
            resetAt = nil
            for stream in pendingReset.streams { outboundSSN[stream] = nil }
            events.append(.outgoingReset(pendingReset.streams))
        case .resetOutgoing(let request, _, let lastTSN, let streams):
            respond(request) {
                guard !serialLess(self.peerTSN, lastTSN) else { return 6 }
                if streams.isEmpty { self.inboundSSN = [:] }
                for stream in streams { self.inboundSSN[stream] = nil }
                self.events.append(.incomingReset(streams))
                return 1
            }
        case .resetIncoming(let request, let streams):
            respond(request) {
                self.resetWanted.formUnion(streams)
                return 1
            }
        // Adding streams and the like: denied.
        case .other(let request): respond(request) { 2 }
        }
    }

    private func respond(_ request: UInt32, _ body: () -> UInt32) {
        if request == peerRequest {
            let result = body()
            if result != 6 {
                peerRequest &+= 1
                lastResult = result
            }
            control.append(.reconfig([.response(request: request, result: result)]))
        } else {
            // The one before again: our answer was lost. Anything else is a bad sequence number.
            control.append(.reconfig([.response(request: request, result: request == peerRequest &- 1 ? lastResult : 5)]))
        }
    }
}
