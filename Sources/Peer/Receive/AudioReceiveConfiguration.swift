import Basics

/// The tunables of audio playout.
public struct AudioReceiveConfiguration: Sendable {
    /// What a clean link needs: a bucket of the estimator and the margin. Playout steps in ticks, so the delay itself
    /// is up to a tick more.
    public var minimumDelay: Duration = .milliseconds(15)
    /// The ceiling of the target; above it audio plays faster until it is back.
    public var maximumDelay: Duration = .milliseconds(250)
    /// Beyond this audio is cut instead.
    public var cutDelay: Duration = .milliseconds(500)
    /// Samples at 48 kHz of one output tick.
    public var samplesPerTick = 960
    /// Packets that wait at most.
    public var maximumPackets = 200

    /// The usual times.
    public init() {}
}
