import Basics
import Codecs
import Peer

/// The frames of a camera, as a peer receives them.
struct SentVideo {
    private let encoder: any VideoEncoder
    private let picture: Picture
    private(set) var sent = 0
    let codec: VideoCodec

    init(
        _ codec: VideoCodec = .h264, width: Int = 320, height: Int = 180, bitRate: BitRate = .kilobits(300)
    ) throws {
        self.codec = codec
        encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(codec: codec, width: width, height: height, framesPerSecond: 30, bitRate: bitRate)
        )
        picture = Picture(width: width, height: height)
    }

    /// The next frame, which arrives at `arrival`.
    mutating func frame(at arrival: Instant, isKeyframe: Bool = false) throws -> ReceivedVideoFrame? {
        sent += 1
        picture.fill(y: UInt8(40 + sent * 5 % 180), u: 128, v: 128)
        let frame = try encoder.encode(picture, timestamp: Int64(sent) * 3000, forceKeyframe: isKeyframe)
        return frame.map { ReceivedVideoFrame(frame: $0, captureTime: arrival - .milliseconds(20), arrival: arrival) }
    }
}
