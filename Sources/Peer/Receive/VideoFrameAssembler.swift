import Basics

/// Assembles frames from whole runs of packets, and determines which frames can be decoded after the delivered ones.
struct VideoFrameAssembler: Sendable {
    enum Result {
        /// The run is padding, or parameter sets alone.
        case nothing
        case broken
        case oversized
        case frame(EncodedVideoFrame)
        /// The frame needs a keyframe before it.
        case undecodable
        /// The frame is of an upper temporal layer of which a frame is missing.
        case skipped
    }

    private var h264 = H264Depacketizer()
    private var vp8 = VP8Depacketizer()
    private(set) var lastCodec: VideoCodec?
    /// The descriptor of the last frame's first packet.
    private var lastDescriptor: VP8Descriptor?
    private var lastEndedWithMarker = false
    private var upperLayersAreBroken = false

    /// Whether the H.264 parameter sets came, so that an IDR picture can be decoded.
    var knowsParameterSets: Bool { h264.hasParameterSets }

    /// Starts anew with the stream.
    mutating func reset() { lastDescriptor = nil }

    /// Records that a frame of an upper temporal layer was abandoned.
    mutating func skippedFrame() { upperLayersAreBroken = true }

    /// Assembles the frame of a run that has payloads.
    mutating func assemble(_ run: VideoPacketRing.Run, isAwaitingKeyframe: Bool) -> Result {
        let result =
            switch run.codec {
            case .h264: h264.assemble(run.payloads, timestamp: run.timestamp)
            case .vp8: vp8.assemble(run.payloads, timestamp: run.timestamp)
            case .av1: AssemblyResult.nothing
            }
        switch result {
        case .nothing: return .nothing
        case .broken: return .broken
        case .oversized: return .oversized
        case .frame(let frame):
            if !frame.isKeyframe, isAwaitingKeyframe || run.codec != lastCodec { return .undecodable }
            let descriptor =
                run.codec == .vp8 ? run.payloads.first.flatMap { VP8Descriptor.parse($0.span)?.descriptor } : nil
            return accept(frame, descriptor, marker: run.marker) ? .frame(frame) : .skipped
        }
    }

    /// Records the frame and returns whether it can be decoded.
    private mutating func accept(_ frame: EncodedVideoFrame, _ descriptor: VP8Descriptor?, marker: Bool) -> Bool {
        lastCodec = frame.codec
        lastEndedWithMarker = marker
        lastDescriptor = descriptor
        if frame.isKeyframe {
            upperLayersAreBroken = false
        } else if frame.temporalLayer > 0, upperLayersAreBroken {
            guard descriptor?.layerSync == true else { return false }
            upperLayersAreBroken = false
        }
        return true
    }

    // MARK: - Over gaps

    /// Whether the VP8 frame that begins with `descriptor` directly follows the last one, so that the numbers missing
    /// between them are padding.
    func isFollowed(by descriptor: VP8Descriptor) -> Bool {
        guard lastCodec == .vp8, lastEndedWithMarker, let last = lastDescriptor, let lastID = last.pictureID,
            let id = descriptor.pictureID,
            descriptor.hasLongPictureID == last.hasLongPictureID
        else { return false }
        return Self.follows(id, lastID, isLong: last.hasLongPictureID)
    }

    /// Whether the VP8 frame that begins with `descriptor` can be decoded without the packets missing before it: only
    /// frames that no later base-layer frame refers to are missing.
    ///
    /// - Parameter broken: the first packet of the frame with the gap, if it arrived.
    func canResume(with descriptor: VP8Descriptor, broken: VideoPacket?) -> Bool {
        guard lastCodec == .vp8, let last = lastDescriptor else { return false }
        if let lastZero = last.temporalLevelZeroIndex, let zero = descriptor.temporalLevelZeroIndex,
            let layer = descriptor.temporalLayer
        {
            // The base layer's counter shows that no base frame is missing.
            return zero == (layer == 0 ? lastZero &+ 1 : lastZero)
        }
        // Without layers: the broken frame is marked as a non-reference frame, and no other is missing.
        guard let broken, broken.startsVP8Frame, let own = broken.descriptor, own.isNonReference,
            let ownID = own.pictureID,
            let id = descriptor.pictureID
        else { return false }
        return Self.follows(id, ownID, isLong: own.hasLongPictureID)
    }

    private static func follows(_ id: UInt16, _ before: UInt16, isLong: Bool) -> Bool {
        (before &+ 1) & (isLong ? 0x7FFF : 0x7F) == id
    }
}
