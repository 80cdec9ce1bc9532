import Basics

/// What one session may send. It is asked before a packet is parsed.
struct SocketIOAllowance: Sendable {
    /// Packets a second, and at once: the candidates of a call come in a burst.
    private static let (eventRate, eventBurst) = (20.0, 200.0)
    /// Bytes of text a second, and at once: from its second call on an app sends an offer from each call of its run.
    private static let (textRate, textBurst) = (65_536.0, 1_048_576.0)
    /// Bytes of attachments a second, and at once: four pictures of the largest size.
    private static let (byteRate, byteBurst) = (1_048_576.0, 33_554_432.0)
    /// Calls a second, and at once: each makes others ring.
    private static let (ringRate, ringBurst) = (0.5, 5.0)
    /// Packets beyond the rates are ignored, and a session that sends this many of them ends.
    private static let maxIgnored = 500

    private var events: TokenBucket
    private var texts: TokenBucket
    private var bytes: TokenBucket
    private var rings: TokenBucket
    private var ignored = 0

    enum Verdict: Sendable { case take, ignore, end }

    init(at now: Instant) {
        events = TokenBucket(rate: Self.eventRate, size: Self.eventBurst, at: now)
        texts = TokenBucket(rate: Self.textRate, size: Self.textBurst, at: now)
        bytes = TokenBucket(rate: Self.byteRate, size: Self.byteBurst, at: now)
        rings = TokenBucket(rate: Self.ringRate, size: Self.ringBurst, at: now)
    }

    /// - Parameter count: bytes of a packet that has not been parsed.
    mutating func packet(bytes count: Int, at now: Instant) -> Verdict {
        verdict(events.take(at: now) && texts.take(Double(count), at: now))
    }

    /// - Parameter count: bytes of the attachments of an event.
    mutating func files(bytes count: Int, at now: Instant) -> Verdict {
        verdict(count == 0 || bytes.take(Double(count), at: now))
    }

    private mutating func verdict(_ isWithin: Bool) -> Verdict {
        if isWithin { return .take }
        ignored += 1
        return ignored < Self.maxIgnored ? .ignore : .end
    }

    mutating func ring(at now: Instant) -> Bool { rings.take(at: now) }
}
