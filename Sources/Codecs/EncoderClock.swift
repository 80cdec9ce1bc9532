import Basics

/// The times of an encoder's frames in ticks of 90 kHz, from zero on.
struct EncoderClock {
    /// RTP's clock.
    static let rate = 90_000

    /// Frames so far, for the time of stills.
    private var frames: Int64 = 0
    private var first: Int64?
    private var last = Int64.min

    /// The time and the duration of the next frame.
    ///
    /// libvpx and libaom give a frame the bits of all the time since the last one. Stills come seldom, and have those of
    /// one frame's duration.
    mutating func next(_ timestamp: Int64, framesPerSecond: Double) throws(CodecError) -> (time: Int64, duration: UInt)
    {
        guard timestamp > last else { throw .unsupportedInput("a timestamp that does not increase") }
        last = timestamp
        let start = first ?? timestamp
        first = start
        let duration = UInt(Double(Self.rate) / framesPerSecond)
        defer { frames += 1 }
        return (framesPerSecond <= 1 ? frames * Int64(duration) : timestamp - start, duration)
    }
}

extension VideoEncoderConfiguration {
    /// The largest keyframe in per cent of an average frame: half of the buffer, as libwebrtc sets it. Of stills every
    /// frame is one, and has no more than its share.
    var maxIntraPercent: Int {
        if framesPerSecond <= 1 { return 100 }
        let frames = bufferDuration.inSeconds * 1.2 * framesPerSecond
        return Int(max(frames * 0.5 * 100, 300))
    }

    /// Throws where the picture has another size.
    func check(_ picture: Picture) throws(CodecError) {
        guard picture.width == width, picture.height == height else {
            throw .unsupportedInput(
                "a picture of \(picture.width)×\(picture.height) for an encoder of \(width)×\(height)")
        }
    }
}
