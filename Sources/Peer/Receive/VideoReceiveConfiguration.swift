import Basics

/// The tunables of video repair.
public struct VideoReceiveConfiguration: Sendable {
    /// The least wait for a repair: a burst of losses lasts about this long, however short the round trip.
    public var minimumHold: Duration = .milliseconds(200)
    /// The longest wait for a repair.
    public var maximumHold: Duration = .milliseconds(400)
    /// The longest wait for a repair if the round trip is long.
    public var maximumHoldOnLongPaths: Duration = .milliseconds(600)
    /// The hold of a frame while no packet of a later one has come.
    public var holdOfNewestFrame: Duration = .milliseconds(2000)
    /// Two keyframe requests are at least this far apart: Chrome's sender ignores those closer than 300 ms.
    public var keyframeRequestGap: Duration = .milliseconds(400)
    /// The longest wait for a keyframe before it is requested again.
    public var keyframeRetry: Duration = .seconds(1)
    /// The most bytes held, and so the largest frame. 3 MB are a second at 24 Mbit/s; a keyframe of 4096×4096 has some
    /// 300 kB at the rates of a call.
    public var maximumBytes = 3_000_000
    /// The most packets held, and so of one frame. A power of two.
    public var maximumPackets = 2048

    /// The default times and limits.
    public init() {}
}
