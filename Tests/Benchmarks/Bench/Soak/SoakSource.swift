import Basics
import Codecs
import Foundation

/// The media of a caller of the soak test, encoded once and kept in memory: frames and Opus packets in loops that begin
/// at multiples of their length on the sender's clock.
struct SoakSource: Sendable {
    var framesPerSecond: Int
    /// The frames, of which the first is a keyframe; nil where the encoder dropped one to keep its rate.
    var frames: [EncodedVideoFrame?]
    /// Opus packets of 20 ms.
    var audio: [[UInt8]]
    /// The level in −dBov (RFC 6464); nil to send none.
    var level: UInt8?

    /// The frame of a tick, numbered from the clock's start.
    func frame(_ tick: Int64) -> EncodedVideoFrame? {
        var frame = frames[Int(tick % Int64(frames.count))]
        frame?.timestamp = Instant(ticks: tick, at: Int64(framesPerSecond)).ticks(at: 90_000)
        return frame
    }

    func packet(_ tick: Int64) -> [UInt8] { audio[Int(tick % Int64(audio.count))] }
}

/// The sources of a whole run.
struct SoakFootage: Sendable {
    /// The source of an ordinary caller: cheap to decode, because many callers share two cores with the server.
    private static let size = (width: 320, height: 180)
    private static let framesPerSecond = 15
    private static let loop = 4 * framesPerSecond
    private static let bitRate = BitRate.kilobits(130)

    /// By codec: a speaking caller, and one in a quiet room.
    private var voices: [VideoCodec: SoakSource] = [:]
    private var listeners: [VideoCodec: SoakSource] = [:]
    /// Speaks for a second, and is quiet for a second.
    private(set) var talker: SoakSource?

    init() throws(CodecError) {
        let scene = HeadScene(width: Self.size.width, height: Self.size.height, loop: Self.loop)
        let pictures = (0..<Self.loop).map { scene.picture($0) }
        let voice = try Self.audio { 0.2 * Float(sin($0 * 2 * .pi * 180) * (0.6 + 0.4 * sin($0 * 2 * .pi * 3))) }
        let quiet = try Self.audio { _ in 0 }
        for codec in VideoCodec.received {
            let frames = try encodeLoop(
                pictures, codec: codec, framesPerSecond: Self.framesPerSecond, bitRate: Self.bitRate)
            voices[codec] = SoakSource(framesPerSecond: Self.framesPerSecond, frames: frames, audio: voice, level: 20)
            listeners[codec] = SoakSource(
                framesPerSecond: Self.framesPerSecond, frames: frames, audio: quiet, level: 90)
        }
        talker = voices[.h264]
        talker?.audio = voice.indices.map { $0 % 100 < 50 ? voice[$0] : quiet[$0] }
        talker?.level = nil
    }

    func source(_ codec: VideoCodec, isLoud: Bool) -> SoakSource? { isLoud ? voices[codec] : listeners[codec] }

    /// Audio as long as the loop of frames. `value` gives the sample at a time in seconds.
    private static func audio(_ value: (Double) -> Float) throws(CodecError) -> [[UInt8]] {
        let encoder = try OpusEncoder(bitRate: .kilobits(24))
        var packets: [[UInt8]] = []
        for tick in 0..<loop / framesPerSecond * 50 {
            packets.append(try encoder.encode((0..<960).map { value(Double(tick * 960 + $0) / 48_000) }))
        }
        return packets
    }
}

/// A keyframe every second: a keyframe request waits for the next one, and the loop keeps its position.
func encodeLoop(
    _ pictures: [Picture], codec: VideoCodec, framesPerSecond: Int, bitRate: BitRate
) throws(CodecError) -> [EncodedVideoFrame?] {
    guard let first = pictures.first else { return [] }
    let encoder = try makeVideoEncoder(
        VideoEncoderConfiguration(
            codec: codec, width: first.width, height: first.height, framesPerSecond: Double(framesPerSecond),
            bitRate: bitRate))
    var frames: [EncodedVideoFrame?] = []
    for (index, picture) in pictures.enumerated() {
        let isKey = index % framesPerSecond == 0
        frames.append(
            try encoder.encode(picture, timestamp: Int64(index * 90_000 / framesPerSecond), forceKeyframe: isKey))
    }
    return frames
}

/// A white flash for a tenth of a second in each second, and a beep of the same length: the soak test measures whether
/// they arrive in sync.
enum FlashAndBeep {
    static let size = (width: 320, height: 180)
    static let framesPerSecond = 30
    /// A tenth of a second.
    private static let flash = 3
    private static let beep = 5
    static let frequency = 1000.0
    static let amplitude: Float = 0.25

    /// - Parameter isOffset: whether it flashes half a second after the full second.
    static func source(_ codec: VideoCodec, isOffset: Bool) throws(CodecError) -> SoakSource {
        let dark = Picture(width: size.width, height: size.height)
        dark.fill(y: 40, u: 118, v: 138)
        let bright = Picture(width: size.width, height: size.height)
        bright.fill(y: 225, u: 128, v: 128)
        let start = isOffset ? framesPerSecond / 2 : 0
        let pictures = (0..<framesPerSecond).map { (start..<start + flash).contains($0) ? bright : dark }
        let frames = try encodeLoop(pictures, codec: codec, framesPerSecond: framesPerSecond, bitRate: .kilobits(400))
        let encoder = try OpusEncoder(bitRate: .kilobits(32))
        let first = isOffset ? 25 : 0
        var audio: [[UInt8]] = []
        // The second pass is kept, because the encoder then continues from the loop's end, as in each later pass.
        for tick in 0..<100 {
            let samples = (0..<960).map { index -> Float in
                let sample = (tick % 50 - first) * 960 + index
                guard (0..<beep * 960).contains(sample) else { return 0 }
                // A ramp of 5 ms at both ends avoids a click.
                let edge = Float(min(sample, beep * 960 - sample)) / 240
                return amplitude * min(edge, 1) * Float(sin(2 * .pi * frequency * Double(sample) / 48_000))
            }
            let packet = try encoder.encode(samples)
            if tick >= 50 { audio.append(packet) }
        }
        return SoakSource(framesPerSecond: framesPerSecond, frames: frames, audio: audio, level: nil)
    }
}
