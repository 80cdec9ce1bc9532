import Basics

/// Statistics of the repair of a stream's frames.
public struct RepairStatistics: Sendable, Equatable {
    /// Frames with a packet that was never received, in per cent.
    public var broken = 0.0
    /// Frames, in per cent, that could be decoded more than 33, 100 and 200 ms later than without loss. A frame waits
    /// for all frames before it. Broken frames count as late; the frames after them as if they were decoded without
    /// them.
    public var late = [0.0, 0.0, 0.0]
    /// The 95th and 99th percentile of the frames' waiting times in milliseconds: the delay that a receiver's buffer
    /// must add.
    public var p95 = 0.0
    public var p99 = 0.0
    /// Gaps of more than 200 ms between two pictures per minute, without a buffer's delay.
    public var freezes = 0.0
    /// In per cent of the media: the XOR packets, and the retransmissions.
    public var parity = 0.0
    public var repairs = 0.0

    static let limits: [Duration] = [.milliseconds(33), .milliseconds(100), .milliseconds(200)]
    static let freeze: Duration = .milliseconds(200)

    /// - Parameters:
    ///   - frames: the packets of each frame, and the arrival time of the last one without loss.
    ///   - came: the arrival time of each packet.
    init(
        _ frames: [(packets: Range<Int>, fastest: Instant)], came: [Instant?],
        overhead: (parity: Double, repairs: Double)
    ) {
        parity = overhead.parity * 100
        repairs = overhead.repairs * 100
        var waits: [Duration] = []
        var shown: Instant?
        var frozen = 0
        var incomplete = 0
        for (packets, fastest) in frames {
            let times = came[packets]
            guard
                let whole = times.reduce(
                    Instant?.some(.zero), { latest, time in latest.flatMap { a in time.map { max(a, $0) } } })
            else {
                incomplete += 1
                waits.append(.seconds(3600))
                continue
            }
            let at = max(whole, shown ?? whole)
            if let shown, at - shown > Self.freeze { frozen += 1 }
            shown = at
            waits.append(at - fastest)
        }
        guard !frames.isEmpty else { return }
        waits.sort()
        let count = Double(frames.count)
        broken = 100 * Double(incomplete) / count
        late = Self.limits.map { limit in 100 * Double(waits.count { $0 > limit }) / count }
        p95 = waits[min(waits.count - 1, waits.count * 95 / 100)].inMilliseconds
        p99 = waits[min(waits.count - 1, waits.count * 99 / 100)].inMilliseconds
        freezes = Double(frozen) / (count / Double(VideoShape.framesPerSecond) / 60)
    }
}
