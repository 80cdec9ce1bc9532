import Basics

/// Whether the upper temporal layer goes out: it is left away when the link does not carry it.
struct TemporalLayerGate: Sendable {
    /// Offered by this much more than the link has for it, the layer goes: an encoder wavers about its rate …
    static let excess = 1.1
    /// … and comes back once the link has enough. More must not be asked for, since the encoder takes what the link has
    /// … … for this long.
    static let patience: Duration = .seconds(2)
    /// Nothing of the upper layer joins a queue that is older.
    static let queueLimit: Duration = .milliseconds(200)

    private var offered = RateMeter()
    private var roomSince: Instant?
    private(set) var isOpen = true

    /// - Parameter available: what the link leaves for video.
    mutating func admits(_ frame: PacketizedVideoFrame, available: BitRate, queueDelay: Duration, at now: Instant)
        -> Bool
    {
        offered.add(frame.bytes.count, at: now)
        let rate = offered.rate(at: now)
        if isOpen {
            if rate > available * Self.excess { isOpen = false }
            roomSince = nil
        } else if rate < available {
            roomSince = roomSince ?? now
            if let roomSince, now - roomSince >= Self.patience { isOpen = true }
        } else {
            roomSince = nil
        }
        return frame.temporalLayer == 0 || (isOpen && queueDelay < Self.queueLimit)
    }
}
