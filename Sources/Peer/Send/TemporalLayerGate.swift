import Basics

/// Whether the upper temporal layer is sent: it is dropped if the link does not carry it.
struct TemporalLayerGate: Sendable {
    /// If the offered rate exceeds the available rate by this factor, the layer is dropped: an encoder varies about its
    /// rate …
    static let excess = 1.1
    /// … and sent again once the available rate suffices for this long. More must not be required, since the encoder
    /// takes all that is available.
    static let reopenDelay: Duration = .seconds(2)
    /// No frame of the upper layer joins a queue that is older.
    static let queueLimit: Duration = .milliseconds(200)

    private var offered = RateMeter()
    private var roomSince: Instant?
    private(set) var isOpen = true

    /// - Parameter available: the part of the estimate that is left for video.
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
            if let roomSince, now - roomSince >= Self.reopenDelay { isOpen = true }
        } else {
            roomSince = nil
        }
        return frame.temporalLayer == 0 || (isOpen && queueDelay < Self.queueLimit)
    }
}
