import Basics

/// One Opus packet as it came, with all that playout needs to know.
public struct ReceivedAudioPacket: Sendable {
    /// The Opus packet.
    public var payload: [UInt8]
    /// Unwrapped.
    public var sequence: Int64
    /// At 48 kHz, unwrapped.
    public var timestamp: Int64
    /// The first packet after silence.
    public var marker: Bool
    /// −dBov, 0 the loudest (RFC 6464).
    public var level: UInt8?
    /// Room time at which it was spoken, by the sender's reports.
    public var captureTime: Instant
    /// When it arrived.
    public var arrival: Instant
    /// A change of it is a new stream.
    public var ssrc: SSRC
    /// It came once more, with a later packet (RFC 2198): of use only where the packet itself did not come, and late by
    /// nature.
    public var isCopy: Bool

    /// A packet of these parts.
    public init(
        payload: [UInt8], sequence: Int64, timestamp: Int64, marker: Bool = false, level: UInt8? = nil,
        captureTime: Instant,
        arrival: Instant, ssrc: SSRC = 0, isCopy: Bool = false
    ) {
        self.payload = payload
        self.sequence = sequence
        self.timestamp = timestamp
        self.marker = marker
        self.level = level
        self.captureTime = captureTime
        self.arrival = arrival
        self.ssrc = ssrc
        self.isCopy = isCopy
    }
}

/// One whole frame that can be decoded, with when it was captured.
public struct ReceivedVideoFrame: Sendable {
    /// The frame; its `timestamp` is of the sender's clock.
    public var frame: EncodedVideoFrame
    /// How it is to be turned for display.
    public var rotation: Rotation
    /// Room time, by the sender's reports.
    public var captureTime: Instant
    /// When its last packet arrived.
    public var arrival: Instant
    /// A part of it was lost and came again: that it is late is the link's doing.
    public var isRepaired: Bool
    /// How long its sender wants it held; nil while it said nothing.
    public var hold: Duration?

    /// A frame of these parts.
    public init(
        frame: EncodedVideoFrame, rotation: Rotation = .none, captureTime: Instant, arrival: Instant,
        isRepaired: Bool = false,
        hold: Duration? = nil
    ) {
        self.frame = frame
        self.rotation = rotation
        self.captureTime = captureTime
        self.arrival = arrival
        self.isRepaired = isRepaired
        self.hold = hold
    }
}
