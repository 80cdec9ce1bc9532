import Basics
import Codecs
import Foundation
import Peer

/// Two seconds of coded media that repeat: a dark, silent picture that is white and beeps for 100 ms once.
struct FlashingFilm {
    static let (width, height, framesPerSecond) = (160, 90, 15)
    /// Frames and packets of 20 ms of one turn.
    static let (frameCount, packetCount) = (30, 100)
    /// The frame that is the first white one, and its time.
    private static let flash = 8
    private static let flashLength = 0.1
    private static var flashTime: Double { Double(flash) / Double(framesPerSecond) }

    let frames: [EncodedVideoFrame]
    let packets: [[UInt8]]

    init() throws {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .vp8, width: Self.width, height: Self.height, framesPerSecond: Double(Self.framesPerSecond),
                bitRate: .kilobits(150)))
        let (dark, white) = (
            Picture(width: Self.width, height: Self.height), Picture(width: Self.width, height: Self.height)
        )
        dark.fill(y: 16, u: 128, v: 128)
        white.fill(y: 235, u: 128, v: 128)
        var frames: [EncodedVideoFrame] = []
        for index in 0..<Self.frameCount {
            let time = Double(index) / Double(Self.framesPerSecond)
            let isWhite = time >= Self.flashTime && time < Self.flashTime + Self.flashLength
            guard
                let frame = try encoder.encode(
                    isWhite ? white : dark, timestamp: Int64(index) * 90_000 / Int64(Self.framesPerSecond),
                    forceKeyframe: index == 0)
            else { throw CodecError.unsupportedInput("the encoder left out a frame of the film") }
            frames.append(frame)
        }
        self.frames = frames
        let opus = try OpusEncoder(bitRate: .kilobits(48), application: .audio)
        // The second turn, whose beginning follows its end.
        packets = try (0..<2 * Self.packetCount).map { try opus.encode(Self.samples($0 % Self.packetCount)) }
            .suffix(Self.packetCount)
    }

    private static func samples(_ packet: Int) -> [Float] {
        (0..<OpusEncoder.frameSize).map { index in
            let time = Double(packet * OpusEncoder.frameSize + index) / 48_000
            guard time >= flashTime, time < flashTime + flashLength else { return 0 }
            return Float(0.6 * sin(2 * .pi * 1000 * (time - flashTime)))
        }
    }

    /// The frame of this number since the film's begin, and its timestamp.
    func frame(_ number: Int64) -> PacketizedVideoFrame {
        var frame = frames[Int(number % Int64(Self.frameCount))]
        frame.timestamp = number * 90_000 / Int64(Self.framesPerSecond)
        return PacketizedVideoFrame(frame)
    }

    func packet(_ number: Int64) -> (payload: [UInt8], timestamp: Int64) {
        (packets[Int(number % Int64(Self.packetCount))], number * Int64(OpusEncoder.frameSize))
    }
}
