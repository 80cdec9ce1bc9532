package import Basics

/// The settings with which a video encoder is opened.
package struct VideoEncoderConfiguration: Sendable, Hashable {
    package enum Speed: Sendable, Hashable {
        /// x264 superfast, VP8 −8, AV1 9 or 10.
        case normal
        /// For an overloaded machine: x264 ultrafast with deblocking, VP8 −12, AV1 10; about a quarter less work.
        case fast
    }

    /// What the pictures show, on which AV1's tools depend.
    package enum Content: Sendable, Hashable {
        case faces
        /// Text and graphics.
        case screen
    }

    package var codec: VideoCodec
    /// In pixels.
    package var width: Int
    package var height: Int
    package var framesPerSecond: Double
    package var bitRate: BitRate
    /// 1 or 2. With 2 every second frame is of layer 1 and may be dropped. The parameter sets of an H.264 encoder then
    /// permit gaps in frame_num (ITU-T H.264 §7.4.2.1.1).
    package var temporalLayers: Int
    /// The largest H.264 NAL unit in bytes, for receivers of packetization-mode 0 (RFC 6184 §6.2); nil for any size.
    package var maxNALSize: Int?
    package var speed: Speed
    /// The longest time between keyframes, so that a recording is seekable; nil for keyframes on request only.
    package var keyframeInterval: Duration?
    /// How far a frame, above all a keyframe, may exceed the rate, as the time that it then takes to send.
    package var bufferDuration: Duration
    /// 0 to 31: H.264's seq_parameter_set_id and pic_parameter_set_id. Streams between which a receiver is switched
    /// must not share one unless their sizes are equal: a receiver that lost the packet with the new sets would decode
    /// the new pictures with the old ones and show garbage. An unknown id makes it request a keyframe.
    package var parameterSetID: Int
    package var content: Content

    package init(
        codec: VideoCodec, width: Int, height: Int, framesPerSecond: Double, bitRate: BitRate, temporalLayers: Int = 1,
        maxNALSize: Int? = nil, speed: Speed = .normal, keyframeInterval: Duration? = nil,
        bufferDuration: Duration = .milliseconds(500), parameterSetID: Int = 0, content: Content = .faces
    ) {
        self.codec = codec
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
        self.bitRate = bitRate
        self.temporalLayers = temporalLayers
        self.maxNALSize = maxNALSize
        self.speed = speed
        self.keyframeInterval = keyframeInterval
        self.bufferDuration = bufferDuration
        self.parameterSetID = parameterSetID
        self.content = content
    }

    var keyframeIntervalFrames: Int? {
        keyframeInterval.map { max(Int($0.inSeconds * framesPerSecond), 1) }
    }
}

/// Encodes pictures of one size on the caller's thread, without delaying a frame.
package protocol VideoEncoder: AnyObject {
    /// The current settings: without those that the codec does not support, with later changes of the rates.
    var configuration: VideoEncoderConfiguration { get }

    /// Encodes a picture; nil when the encoder dropped it to keep its rate.
    ///
    /// `timestamp` (90 kHz) must increase from call to call and is returned in the frame. `picture` must have the
    /// configured size. A forced keyframe is never dropped.
    func encode(_ picture: Picture, timestamp: Int64, forceKeyframe: Bool) throws(CodecError) -> EncodedVideoFrame?

    /// Whether the encoder has more to say of the last picture than its frame had room for: it is encoded again, though
    /// it stands still.
    var hasMore: Bool { get }

    /// Sets the bit rate from the next frame on, without a keyframe.
    func setBitRate(_ rate: BitRate)

    /// Sets the rate of the pictures from the next frame on.
    func setFrameRate(_ framesPerSecond: Double)
}

extension VideoEncoder {
    package var hasMore: Bool { false }
}

/// Opens an encoder for the configuration's codec: x264, libvpx or libaom.
package func makeVideoEncoder(_ configuration: VideoEncoderConfiguration) throws(CodecError) -> any VideoEncoder {
    guard (16...8192).contains(configuration.width), (16...8192).contains(configuration.height),
        configuration.width.isMultiple(of: 2), configuration.height.isMultiple(of: 2)
    else {
        throw .unsupportedInput(
            "a video size of \(configuration.width)×\(configuration.height): sides must be even, 16 to 8192")
    }
    guard (1...120).contains(configuration.framesPerSecond), configuration.bitRate.bitsPerSecond >= 10_000 else {
        throw .unsupportedInput(
            "\(configuration.framesPerSecond) frames/s at \(configuration.bitRate): needs 1 to 120 frames/s and at least 10k"
        )
    }
    return switch configuration.codec {
    case .h264: try H264Encoder(configuration)
    case .vp8: try VP8Encoder(configuration)
    case .av1: try AV1Encoder(configuration)
    }
}
