import Basics
import Codecs
import Foundation

/// The media of the bystanders, cheap to make and to check: a tone, and a picture whose brightness changes with each
/// frame.
struct BystanderFootage {
    static let width = 320
    static let height = 180
    static let framesPerSecond = 30
    /// The tones in Hz, one for each caller.
    static let tones = [440.0, 1000.0]

    /// Brightness levels, of which adjacent ones, and those two apart, differ.
    private static let levels: [UInt8] = [60, 110, 160, 210, 135, 85]

    let frames: [EncodedVideoFrame]
    /// Opus packets of 20 ms, one second, for each tone.
    let audio: [[[UInt8]]]

    init() throws(CodecError) {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .h264, width: Self.width, height: Self.height, framesPerSecond: Double(Self.framesPerSecond),
                bitRate: .kilobits(400),
                keyframeInterval: .seconds(1)))
        var frames: [EncodedVideoFrame] = []
        for index in 0..<Self.framesPerSecond * 2 {
            let picture = Picture(width: Self.width, height: Self.height)
            picture.fill(y: Self.levels[index % Self.levels.count], u: 128, v: 128)
            let timestamp = Int64(index * 90_000 / Self.framesPerSecond)
            if let frame = try encoder.encode(picture, timestamp: timestamp, forceKeyframe: index == 0) {
                frames.append(frame)
            }
        }
        self.frames = frames
        var audio: [[[UInt8]]] = []
        for tone in Self.tones {
            let encoder = try OpusEncoder(bitRate: .kilobits(32))
            var packets: [[UInt8]] = []
            for tick in 0..<100 {
                let samples = (0..<960).map {
                    Float(0.3 * sin(2 * Double.pi * tone * Double(tick * 960 + $0) / 48_000))
                }
                packets.append(try encoder.encode(samples))
            }
            // The first second lets the encoder settle.
            audio.append(Array(packets[50...]))
        }
        self.audio = audio
    }
}
