/// How many bytes may be in flight (RFC 9260 §7.2).
struct SCTPCongestionWindow {
    private let packetSize: Int
    private let limit: Int
    /// In bytes.
    private(set) var size: Int
    private var slowStartThreshold = Int.max
    private var partiallyAcknowledged = 0
    /// The newest TSN when a loss was noticed: until it is acknowledged, further losses belong to the same one.
    private var recoveryExit: UInt32?

    /// - Parameter limit: the largest size.
    init(packetSize: Int, limit: Int) {
        self.packetSize = packetSize
        self.limit = limit
        size = max(2 * packetSize, min(4 * packetSize, 4380))
    }

    /// Starts when the association is established.
    mutating func start(peerWindow: Int) { slowStartThreshold = max(peerWindow, 4 * packetSize) }

    /// Takes an acknowledgement of `bytes`.
    ///
    /// - Parameters:
    ///   - advanced: the cumulative TSN has advanced.
    ///   - flight: the bytes that were in flight before.
    mutating func grow(by bytes: Int, advanced: Bool, flight: Int) {
        guard advanced, recoveryExit == nil else { return }
        if size <= slowStartThreshold {
            if flight + packetSize >= size { size += min(bytes, packetSize) }
        } else {
            partiallyAcknowledged += bytes
            if partiallyAcknowledged >= size, flight + packetSize >= size {
                partiallyAcknowledged -= size
                size += packetSize
            }
        }
        size = min(size, limit)
    }

    /// Leaves the recovery from a loss once everything that was sent before it is acknowledged.
    mutating func acknowledged(upTo tsn: UInt32) {
        if let exit = recoveryExit, !serialLess(tsn, exit) { recoveryExit = nil }
    }

    /// Records a reported loss (§7.2.4); the first one within a window halves the size.
    mutating func fastRetransmit(lastTSN: UInt32) {
        guard recoveryExit == nil else { return }
        slowStartThreshold = max(size / 2, 4 * packetSize)
        size = slowStartThreshold
        partiallyAcknowledged = 0
        recoveryExit = lastTSN
    }

    /// Records a timeout without any acknowledgement (§7.2.3).
    mutating func timedOut() {
        slowStartThreshold = max(size / 2, 4 * packetSize)
        size = packetSize
        partiallyAcknowledged = 0
        recoveryExit = nil
    }
}
