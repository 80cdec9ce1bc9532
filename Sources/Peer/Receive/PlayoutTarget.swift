import Basics

/// What the delay of audio should be: what covers the jitter of its packets, more for a while after a late one, and
/// what the picture needs.
struct PlayoutTarget: Sendable {
    /// Safety above the measured quantile.
    private static let margin: Duration = .milliseconds(10)

    private let configuration: AudioReceiveConfiguration
    private var estimator = DelayEstimator()
    /// What a late packet raised the target to.
    private var raised: (delay: Duration, since: Instant)?
    /// What the picture needs: the least delay, up to the ceiling.
    var minimum: Duration = .zero

    init(_ configuration: AudioReceiveConfiguration) {
        self.configuration = configuration
    }

    /// What the delay should be now.
    func delay(at now: Instant) -> Duration {
        // Until something is known a link is taken for a clean one: a late packet corrects that at once.
        var target = (estimator.delay ?? .zero) + Self.margin
        if let raised { target = max(target, Self.faded(raised, at: now)) }
        target = max(target, configuration.minimumDelay, minimum)
        return min(target, configuration.maximumDelay)
    }

    /// How much later than the fastest packet's arrival the sample of `timestamp` would play now.
    func delay(of timestamp: Int64, at now: Instant) -> Duration {
        guard let base = estimator.base else { return .zero }
        return .nanoseconds(now.nanoseconds &- OpusClock.time(timestamp).nanoseconds &- base)
    }

    /// Notes a packet and answers how much later than the fastest one it came.
    mutating func insert(_ packet: ReceivedAudioPacket) -> Duration {
        estimator.insert(mediaTime: OpusClock.time(packet.timestamp).nanoseconds, arrival: packet.arrival)
    }

    /// A packet came too late by the target of now.
    mutating func raise(to delay: Duration, at now: Instant) {
        let wanted = min(delay + Self.margin, configuration.maximumDelay)
        if let raised, Self.faded(raised, at: now) > wanted { return }
        raised = (wanted, now)
    }

    /// A new stream, or a jump of its clock.
    mutating func reset() {
        estimator.rebase()
        raised = nil
    }

    /// A late packet counts at once; a second later its memory fades.
    private static func faded(_ raised: (delay: Duration, since: Instant), at now: Instant) -> Duration {
        let age = max(0, (now - raised.since).inSeconds - 1)
        return raised.delay * (1 / (1 + age * age))
    }
}
