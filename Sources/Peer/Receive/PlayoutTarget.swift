import Basics

/// The target delay of audio: it covers the jitter of the packets, is higher for a while after a late packet, and
/// follows the needs of lip synchronisation.
struct PlayoutTarget: Sendable {
    /// Safety above the measured quantile.
    private static let margin: Duration = .milliseconds(10)

    private let configuration: AudioReceiveConfiguration
    private var estimator = DelayEstimator()
    /// The target that a late packet raised, and when.
    private var raised: (delay: Duration, since: Instant)?
    /// The least delay that the picture needs, up to the ceiling.
    var minimum: Duration = .zero

    init(_ configuration: AudioReceiveConfiguration) {
        self.configuration = configuration
    }

    /// The target delay now.
    func delay(at now: Instant) -> Duration {
        // Until something is measured a link counts as clean: a late packet corrects that at once.
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

    /// Records a packet and returns how much later than the fastest one it came.
    mutating func insert(_ packet: ReceivedAudioPacket) -> Duration {
        estimator.insert(mediaTime: OpusClock.time(packet.timestamp).nanoseconds, arrival: packet.arrival)
    }

    /// Raises the target after a packet that came too late for it.
    mutating func raise(to delay: Duration, at now: Instant) {
        let wanted = min(delay + Self.margin, configuration.maximumDelay)
        if let raised, Self.faded(raised, at: now) > wanted { return }
        raised = (wanted, now)
    }

    /// Starts anew: a new stream, or a jump of its clock.
    mutating func reset() {
        estimator.rebase()
        raised = nil
    }

    /// A late packet counts fully for a second; then its effect decays.
    private static func faded(_ raised: (delay: Duration, since: Instant), at now: Instant) -> Duration {
        let age = max(0, (now - raised.since).inSeconds - 1)
        return raised.delay * (1 / (1 + age * age))
    }
}
