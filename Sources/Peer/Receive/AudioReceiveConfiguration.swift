import Basics

/// The tunables of audio playout.
public struct AudioReceiveConfiguration: Sendable {
    /// The delay on a clean link: a bucket of the estimator and the margin. Playout advances in ticks, so the delay
    /// itself is up to a tick longer.
    public var minimumDelay: Duration = .milliseconds(15)
    /// The ceiling of the target; above it audio is played faster until the delay is below it again.
    public var maximumDelay: Duration = .milliseconds(250)
    /// Above this delay audio is dropped instead.
    public var cutDelay: Duration = .milliseconds(500)
    /// Samples at 48 kHz of one output tick.
    public var samplesPerTick = 960
    /// The most packets that wait.
    public var maximumPackets = 200

    /// The default values.
    public init() {}
}
