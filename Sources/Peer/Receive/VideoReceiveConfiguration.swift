import Basics

/// The tunables of video repair.
public struct VideoReceiveConfiguration: Sendable {
    /// A burst of losses lasts about this long, however short the round trip.
    public var minimumHold: Duration = .milliseconds(200)
    /// The longest wait for repair, and that on a long round trip.
    public var maximumHold: Duration = .milliseconds(400)
    /// The longest wait for repair where the round trip is long.
    public var maximumHoldOnLongPaths: Duration = .milliseconds(600)
    /// Two keyframe requests are at least this far apart: Chrome's sender ignores those closer than 300 ms.
    public var keyframeRequestGap: Duration = .milliseconds(400)
    /// The longest wait for a keyframe before it is asked for again.
    public var keyframeRetry: Duration = .seconds(1)
    /// Bytes that are held, and so of one frame. 3 MB are a second at 24 Mbit/s; a keyframe of 4096×4096 has some 300
    /// kB at a call's rates.
    public var maximumBytes = 3_000_000
    /// Packets that are held, and so of one frame. A power of two.
    public var maximumPackets = 2048

    /// The usual times and limits.
    public init() {}
}
