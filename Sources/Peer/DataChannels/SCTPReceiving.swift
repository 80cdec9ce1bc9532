import Basics

/// DATA in: what is taken, when it is delivered, and the SACKs that answer it.
extension SCTPAssociation {
    /// Payload and headers of refused chunks, without one that was taken between them, in receive windows: who keeps to RFC 9260 §6.1 has
    /// at most one under way, and then sends one chunk a timeout.
    static let refusedWindows = 4
    /// A DATA chunk's header.
    static let dataHeader = 16

    func receive(_ data: SCTPData, at now: Instant) {
        // RFC 9260 §6.2: DATA without user data ends the association.
        guard !data.payload.isEmpty else { return abort("the data channel peer sent a chunk without data") }
        guard !numbers.contains(data.tsn) else { return numbers.noteDuplicate(data.tsn) }
        guard hasRoom(for: data) else { return refuse(data) }
        refusedBytes = 0
        let (isAfter, isBefore) = (numbers.contains(data.tsn &- 1), numbers.contains(data.tsn &+ 1))
        numbers.insert(data.tsn)
        guard reassembly.add(data, isAfterReceived: isAfter, isBeforeReceived: isBefore) else {
            return abort("a message was longer than \(configuration.maximumMessage) bytes")
        }
        deliver(at: now)
    }

    /// Over the window only what fills the first hole is taken: what waits behind it may need it. Then no more than one message of a peer
    /// that keeps to the rules can be held beside the window, so twice that is room enough.
    private func hasRoom(for data: SCTPData) -> Bool {
        guard numbers.hasRoom(for: data.tsn) else { return false }
        let isFirstMissing = data.tsn == numbers.cumulative &+ 1
        guard isFirstMissing || reassembly.hasRoom(for: data) else { return false }
        let held = held + data.payload.count + SCTPReassembly.bookkeeping
        if held <= configuration.receiveWindow { return true }
        return isFirstMissing && numbers.hasHoles && held <= configuration.receiveWindow + 2 * configuration.maximumMessage
    }

    /// Not acknowledged, so that its sender sends it again when there is room.
    private func refuse(_ data: SCTPData) {
        statistics.refusedChunks += 1
        sackNow = true
        refusedBytes += data.payload.count + Self.dataHeader
        if refusedBytes > Self.refusedWindows * configuration.receiveWindow {
            abort("the data channel peer sends on into a window that is closed")
        }
    }

    /// Hands on whole messages as fast as the budget allows. What waits fills the window, which slows an honest sender down without a loss.
    func deliver(at now: Instant) {
        deliverAt = nil
        defer { tellWindow() }
        while let message = reassembly.first {
            let wait = max(messageBudget.wait(at: now), byteBudget.wait(for: Double(message.payload.count), at: now))
            guard wait == .zero else {
                if !isSlowed { statistics.slowed += 1 }
                isSlowed = true
                deliverAt = now + wait
                return
            }
            messageBudget.spend(1, at: now)
            byteBudget.spend(Double(message.payload.count), at: now)
            _ = reassembly.takeFirst()
            events.append(.message(stream: message.stream, ppid: message.ppid, payload: message.payload))
        }
        isSlowed = false
    }

    /// A window that was told as all but closed and is open again is told at once (RFC 9260 §6.2): the sender waits for it.
    private func tellWindow() {
        if advertisedWindow < configuration.packetSize, configuration.receiveWindow - held >= configuration.receiveWindow / 4 { sackNow = true }
    }

    /// The sender gave up everything up to `tsn` (RFC 3758 §3.6).
    func forward(to tsn: UInt32, _ skips: [SCTPSkip], at now: Instant) {
        sackNow = true
        guard serialLess(numbers.cumulative, tsn), tsn &- numbers.cumulative < SCTPReceivedNumbers.furthestAhead else { return }
        numbers.advance(to: tsn)
        reassembly.forward(to: tsn, skips)
        deliver(at: now)
    }

    func sack() -> SCTPChunk {
        unacknowledgedPackets = 0
        sackNow = false
        sackAt = nil
        advertisedWindow = max(0, configuration.receiveWindow - held)
        return .sack(numbers.report(window: UInt32(clamping: advertisedWindow)))
    }
}
