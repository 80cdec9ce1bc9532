import Basics

/// The tunables of video repair.
public struct VideoReceiveConfiguration: Sendable {
    /// A burst of losses lasts about this long, however short the round trip.
    public var minimumHold: Duration = .milliseconds(200)
    /// The longest wait for repair, and that on a long round trip.
    public var maximumHold: Duration = .milliseconds(400)
    public var maximumHoldOnLongPaths: Duration = .milliseconds(600)
    /// Two keyframe requests are at least this far apart: Chrome's sender ignores those closer than 300 ms.
    public var keyframeRequestGap: Duration = .milliseconds(400)
    /// The longest wait for a keyframe before it is asked for again.
    public var keyframeRetry: Duration = .seconds(1)
    /// Bytes that are held, and so of one frame. 3 MB are a second at 24 Mbit/s; a keyframe of 4096×4096 has some 300 kB at a call's rates.
    public var maximumBytes = 3_000_000
    /// Packets that are held, and so of one frame. A power of two.
    public var maximumPackets = 2048

    public init() {}
}

/// A whole frame in decoding order.
public struct AssembledFrame: Sendable {
    public var frame: EncodedVideoFrame
    /// Of the packet that completed it.
    public var arrival: Instant
    /// A packet of it had been missing and was asked for.
    public var isRepaired: Bool
}

extension VideoReceiveBuffer {
    public struct Statistics: Sendable, Equatable {
        public var packets = 0
        public var duplicates = 0
        /// Came after they were given up.
        public var late = 0
        public var nacksSent = 0
        /// Arrived after they had been asked for.
        public var recovered = 0
        /// Packets given up.
        public var lost = 0
        public var frames = 0
        public var keyframes = 0
        public var keyframeRequests = 0
        /// How often the stream stood until a keyframe came.
        public var interruptions = 0
        /// Lost or dropped frames that nothing referred to.
        public var skippedFrames = 0
        public var malformed = 0
        /// Dropped because they were more than a frame may be: in bytes, packets or NAL units.
        public var oversizedFrames = 0
    }
}
