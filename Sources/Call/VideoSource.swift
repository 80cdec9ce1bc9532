import Basics
import Codecs

/// Makes the frames that all participants of a `tessera call` send. Confined to the source's thread.
protocol VideoSource: AnyObject {
    var codec: VideoCodec { get }
    var framesPerSecond: Double { get }
    /// The frame for a tick at `time`; nil when there is none to send. With `keyframe` the source returns a keyframe as
    /// soon as it has one.
    func frame(at time: Instant, keyframe: Bool) throws -> EncodedVideoFrame?
    /// How many frames of the file the last call of `frame` left out; the audio must leave out as much.
    var leftOut: Int { get }
}

extension VideoSource {
    var leftOut: Int { 0 }
}

/// Draws and encodes the test pattern.
final class PatternVideoSource: VideoSource {
    let codec: VideoCodec
    let framesPerSecond = Double(TestPattern.framesPerSecond)
    private let pattern: TestPattern
    private let picture = Picture(width: TestPattern.width, height: TestPattern.height)
    private let encoder: any VideoEncoder

    init(codec: VideoCodec, seed: Int) throws {
        self.codec = codec
        pattern = TestPattern(seed: seed)
        encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: codec, width: TestPattern.width, height: TestPattern.height, framesPerSecond: framesPerSecond,
                bitRate: .kilobits(500)))
    }

    func frame(at time: Instant, keyframe: Bool) throws -> EncodedVideoFrame? {
        pattern.draw(at: time, into: picture)
        return try encoder.encode(picture, timestamp: time.ticks(at: 90_000), forceKeyframe: keyframe)
    }
}

/// Sends a file's own frames in a loop. On a keyframe request it jumps to the next keyframe in the file.
final class PassthroughVideoSource: VideoSource {
    let codec: VideoCodec
    let framesPerSecond: Double
    private let frames: [EncodedVideoFrame]
    private var next = 0
    private(set) var leftOut = 0

    /// Returns nil when the frames do not begin with a keyframe.
    init?(frames: [EncodedVideoFrame], framesPerSecond: Double) {
        guard let first = frames.firstIndex(where: \.isKeyframe) else { return nil }
        self.frames = Array(frames[first...])
        self.framesPerSecond = framesPerSecond
        codec = frames[first].codec
    }

    func frame(at time: Instant, keyframe: Bool) throws -> EncodedVideoFrame? {
        leftOut = 0
        if keyframe, !frames[next].isKeyframe {
            let key = frames[next...].firstIndex(where: \.isKeyframe) ?? frames.count
            leftOut = key - next
            next = key % frames.count
        }
        var frame = frames[next]
        frame.timestamp = time.ticks(at: 90_000)
        next = (next + 1) % frames.count
        return frame
    }
}

/// Decodes a file of any codec in a loop and encodes it again.
final class TranscodingVideoSource: VideoSource {
    let codec: VideoCodec
    let framesPerSecond: Double
    private let reader: MediaFileReader
    private var encoder: (any VideoEncoder)?

    init(path: String, codec: VideoCodec) throws {
        self.codec = codec
        reader = try MediaFileReader(path: path, decode: true)
        framesPerSecond = min(reader.framesPerSecond, 30)
    }

    func frame(at time: Instant, keyframe: Bool) throws -> EncodedVideoFrame? {
        guard let picture = try nextPicture() else { return nil }
        let width = picture.width & ~1, height = picture.height & ~1
        if encoder?.configuration.width != width || encoder?.configuration.height != height {
            encoder = try makeVideoEncoder(
                VideoEncoderConfiguration(
                    codec: codec, width: width, height: height, framesPerSecond: framesPerSecond,
                    bitRate: BitRate(bitsPerSecond: max(150_000, width * height * 2))))
        }
        return try encoder?.encode(picture, timestamp: time.ticks(at: 90_000), forceKeyframe: keyframe)
    }

    /// The next picture, starting again at the end of the file; nil when a whole pass has none.
    private func nextPicture() throws -> Picture? {
        var rewinds = 0
        while rewinds < 2 {
            switch try reader.next() {
            case .picture(let picture, _)?: return picture
            case nil:
                try reader.rewind()
                rewinds += 1
            default: continue
            }
        }
        return nil
    }
}

/// Makes the cheapest source for a file: its own frames where the codec matches, otherwise a transcoder.
func makeVideoSource(file: String?, codec: VideoCodec, seed: Int) throws -> any VideoSource {
    guard let file else { return try PatternVideoSource(codec: codec, seed: seed) }
    let reader = try MediaFileReader(path: file)
    guard reader.hasVideo else { throw CallError("\(file) has no video: leave --video out, or name a file with one") }
    if reader.videoPassthrough == codec {
        // A quarter of an hour at 2 Mbit/s is kept in memory; a longer file is decoded while it is sent.
        let limit = 256 << 20
        var frames: [EncodedVideoFrame] = []
        var bytes = 0
        while bytes < limit, let sample = try reader.next() {
            if case .video(let frame) = sample {
                bytes += frame.data.count
                frames.append(frame)
            }
        }
        if bytes < limit, let source = PassthroughVideoSource(frames: frames, framesPerSecond: reader.framesPerSecond) {
            return source
        }
    }
    return try TranscodingVideoSource(path: file, codec: codec)
}
