import Basics
import Codecs
import Foundation
import Recording
import TestSupport

/// A dark, silent picture that is white and beeps for 100 ms at every whole second of a recording's feed.
struct FlashAndBeep {
    static let width = 160
    static let height = 96
    /// A room's clock shows any number.
    static let origin = Instant(nanoseconds: 86_400_123_456_789)

    let encoder: any VideoEncoder
    private let dark: Picture
    private let bright: Picture

    init(
        framesPerSecond: Double = 25, speed: VideoEncoderConfiguration.Speed = .normal, width: Int = width
    ) throws {
        encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .h264, width: width, height: Self.height, framesPerSecond: framesPerSecond,
                bitRate: .kilobits(200),
                speed: speed,
                keyframeInterval: .seconds(1)))
        dark = Picture(width: width, height: Self.height)
        dark.fill(y: 16, u: 128, v: 128)
        bright = Picture(width: width, height: Self.height)
        bright.fill(y: 235, u: 128, v: 128)
    }

    private static func isOn(_ millisecond: Int) -> Bool { millisecond % 1000 < 100 }

    static func instant(_ millisecond: Int) -> Instant { origin + .milliseconds(millisecond) }

    /// The frame at a time that is a multiple of 40 ms.
    func frame(_ millisecond: Int, keyframe: Bool = false) throws -> EncodedVideoFrame? {
        try encoder.encode(
            Self.isOn(millisecond) ? bright : dark, timestamp: Self.instant(millisecond).ticks(at: 90_000),
            forceKeyframe: keyframe)
    }

    /// 20 ms of audio from a time on.
    static func audio(_ millisecond: Int) -> (samples: [Float], timestamp: Int64) {
        (
            sine(1000, count: 960, amplitude: isOn(millisecond) ? 0.6 : 0),
            instant(millisecond).ticks(at: 48_000)
        )
    }

    /// Feeds a recorder with the media of `range`, the audio ahead of the video as in a room.
    func feed(
        _ recorder: MP4Recorder, _ range: Range<Int>, audio: (Int) -> Bool = { _ in true },
        video: (Int) -> Bool = { _ in true }
    ) throws {
        for time in stride(from: range.lowerBound, to: range.upperBound, by: 20) {
            if audio(time) {
                let block = Self.audio(time)
                recorder.append(audio: block.samples, timestamp: block.timestamp)
            }
            // Frames come 60 ms after the audio of their time.
            let late = time - 60
            if late >= range.lowerBound, late % 40 == 0, video(late), let frame = try frame(late) {
                recorder.append(frame)
            }
        }
        for late in stride(from: max(range.upperBound - 60, range.lowerBound), to: range.upperBound, by: 20)
        where late % 40 == 0 && video(late) {
            if let frame = try frame(late) { recorder.append(frame) }
        }
    }
}

/// The times at which flashes and beeps begin in a file, in seconds, found with FFmpeg.
struct Onsets {
    var flashes: [Double] = []
    var beeps: [Double] = []
    var pictureCount = 0
    var sizes: Set<[Int]> = []
    var sampleCount = 0

    init(_ path: String) throws {
        let reader = try MediaFileReader(path: path, decode: true)
        var wasBright = false
        var quietSince = Int64.min / 2
        while let sample = try reader.next() {
            switch sample {
            case .picture(let picture, let timestamp):
                pictureCount += 1
                sizes.insert([picture.width, picture.height])
                let isBright = picture.y[picture.height / 2 * picture.yStride + picture.width / 2] > 128
                if isBright, !wasBright { flashes.append(Double(timestamp) / 90_000) }
                wasBright = isBright
            case .pcm(let samples, let timestamp):
                sampleCount += samples.count
                for (index, value) in samples.enumerated() where abs(value) > 0.25 {
                    let time = timestamp + Int64(index)
                    if time - quietSince > 4800 { beeps.append(Double(time) / 48_000) }
                    quietSince = time
                }
            default: break
            }
        }
    }

    /// The largest distance between a flash and its beep; nil when their numbers differ.
    var worstOffset: Double? {
        guard flashes.count == beeps.count else { return nil }
        return zip(flashes, beeps).map { abs($0 - $1) }.max()
    }
}
