import Basics

/// DATA, reassembly, FORWARD-TSN and the SACKs that answer them.
extension SCTPAssociation {
    /// How far ahead of the first hole a chunk may be; gap blocks count in 16 bits.
    static let furthestAhead: UInt32 = 16_384

    /// What a held chunk or message costs beside its payload: many tiny ones fill the window too, not the memory.
    static let bookkeeping = 64

    func receive(_ data: SCTPData) {
        // RFC 9260 §6.2: DATA without user data ends the association.
        guard !data.payload.isEmpty else {
            emit([.abort([])])
            finish(.failed("the data channel peer sent a chunk without data"))
            return
        }
        guard serialLess(peerTSN, data.tsn), !ahead.contains(data.tsn) else {
            if duplicates.count < 32 { duplicates.append(data.tsn) }
            return
        }
        guard data.tsn &- peerTSN < Self.furthestAhead else { return }
        // Over the window only what fills the first hole is taken.
        guard held + data.payload.count + Self.bookkeeping <= configuration.receiveWindow || data.tsn == peerTSN &+ 1 else {
            sackNow = true
            return
        }
        ahead.insert(data.tsn)
        closeHoles()
        fragments[data.tsn] = data
        held += data.payload.count + Self.bookkeeping
        assemble(around: data)
    }

    private func closeHoles() {
        while ahead.remove(peerTSN &+ 1) != nil { peerTSN &+= 1 }
    }

    /// Delivers the message that this chunk completed, if it did.
    private func assemble(around data: SCTPData) {
        var first = data.tsn
        var size = data.payload.count
        while fragments[first]?.begins == false {
            guard let before = fragments[first &- 1], belongs(before, to: data), !before.ends else { return oversize(size) }
            first &-= 1
            size += before.payload.count
        }
        var last = data.tsn
        while fragments[last]?.ends == false {
            guard let after = fragments[last &+ 1], belongs(after, to: data), !after.begins else { return oversize(size) }
            last &+= 1
            size += after.payload.count
        }
        if size > configuration.maximumMessage { return oversize(size) }
        var payload: [UInt8] = []
        payload.reserveCapacity(size)
        var tsn = first
        while true {
            if let part = fragments.removeValue(forKey: tsn) {
                payload += part.payload
                held -= part.payload.count + Self.bookkeeping
            }
            if tsn == last { break }
            tsn &+= 1
        }
        if data.unordered {
            events.append(.message(stream: data.stream, ppid: data.ppid, payload: payload))
        } else {
            if let replaced = ready[data.stream]?[data.ssn] { held -= replaced.payload.count + Self.bookkeeping }
            held += size + Self.bookkeeping
            ready[data.stream, default: [:]][data.ssn] = (data.ppid, payload)
            deliver(data.stream)
        }
    }

    private func belongs(_ other: SCTPData, to data: SCTPData) -> Bool {
        other.stream == data.stream && other.unordered == data.unordered && (data.unordered || other.ssn == data.ssn)
    }

    private func oversize(_ size: Int) {
        guard size > configuration.maximumMessage else { return }
        emit([.abort([])])
        finish(.failed("a message was longer than \(configuration.maximumMessage) bytes"))
    }

    private func deliver(_ stream: UInt16) {
        while let message = ready[stream]?.removeValue(forKey: inboundSSN[stream, default: 0]) {
            inboundSSN[stream, default: 0] &+= 1
            held -= message.payload.count + Self.bookkeeping
            events.append(.message(stream: stream, ppid: message.ppid, payload: message.payload))
        }
        if ready[stream]?.isEmpty == true { ready[stream] = nil }
    }

    /// The sender gave up everything up to `tsn` (RFC 3758 §3.6).
    func forward(to tsn: UInt32, _ skips: [SCTPSkip]) {
        sackNow = true
        guard serialLess(peerTSN, tsn), tsn &- peerTSN < Self.furthestAhead else { return }
        for (number, data) in fragments where !serialLess(tsn, number) {
            fragments[number] = nil
            held -= data.payload.count + Self.bookkeeping
        }
        ahead = ahead.filter { serialLess(tsn, $0) }
        peerTSN = tsn
        closeHoles()
        for skip in skips {
            let next = inboundSSN[skip.stream, default: 0]
            guard Int16(bitPattern: skip.ssn &- next) >= 0 else { continue }
            // What arrived whole below the skipped number is still good.
            let kept = (ready[skip.stream] ?? [:]).keys.filter { Int16(bitPattern: $0 &- skip.ssn) <= 0 }
                .sorted { Int16(bitPattern: $0 &- $1) < 0 }
            for ssn in kept {
                guard let message = ready[skip.stream]?.removeValue(forKey: ssn) else { continue }
                held -= message.payload.count + Self.bookkeeping
                events.append(.message(stream: skip.stream, ppid: message.ppid, payload: message.payload))
            }
            inboundSSN[skip.stream] = skip.ssn &+ 1
            deliver(skip.stream)
        }
    }

    func sack() -> SCTPChunk {
        var gaps: [ClosedRange<UInt16>] = []
        for offset in ahead.map({ $0 &- peerTSN }).sorted() {
            guard let offset = UInt16(exactly: offset) else { break }
            if let last = gaps.last, last.upperBound &+ 1 == offset {
                gaps[gaps.count - 1] = last.lowerBound...offset
            } else if gaps.count < 200 {
                gaps.append(offset...offset)
            } else {
                break
            }
        }
        defer {
            duplicates = []
            unacknowledgedPackets = 0
            sackNow = false
            sackAt = nil
        }
        let window = UInt32(clamping: max(0, configuration.receiveWindow - held))
        return .sack(SCTPSack(cumulative: peerTSN, window: window, gaps: gaps, duplicates: duplicates))
    }
}
