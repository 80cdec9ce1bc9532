public import Basics

/// One received Opus packet with everything that playout needs.
public struct ReceivedAudioPacket: Sendable {
    /// The Opus packet.
    public var payload: [UInt8]
    /// Unwrapped.
    public var sequence: Int64
    /// At 48 kHz, unwrapped.
    public var timestamp: Int64
    /// Whether it is the first packet after silence.
    public var marker: Bool
    /// −dBov, 0 the loudest (RFC 6464).
    public var level: UInt8?
    /// Room time of its capture, by the sender's reports.
    public var captureTime: Instant
    /// When it arrived.
    public var arrival: Instant
    /// Another SSRC means a new stream.
    public var ssrc: SSRC
    /// Whether it is a copy that came with a later packet (RFC 2198): of use only if the packet itself was lost, and
    /// late by design.
    public var isCopy: Bool

    /// Makes a packet from its parts.
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

/// One whole frame that can be decoded, with its capture time.
public struct ReceivedVideoFrame: Sendable {
    /// The frame; its `timestamp` is in the sender's clock.
    public var frame: EncodedVideoFrame
    /// The rotation for display.
    public var rotation: Rotation
    /// Room time of its capture, by the sender's reports.
    public var captureTime: Instant
    /// When its last packet arrived.
    public var arrival: Instant
    /// Whether a part of it was lost and retransmitted: then its delay is due to the link.
    public var isRepaired: Bool
    /// The minimum playout delay that its sender requests; nil if it requested none.
    public var hold: Duration?

    /// Makes a frame from its parts.
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
