import Basics
import Codecs
import TestSupport

@testable import Streaming

/// Feeds a packager with pictures and sound of a room, in virtual time.
struct HLSFeed {
    /// A room's clock shows any number.
    static let origin: Int64 = 90_000 * 86_400 + 17

    var packager: HLSPackager
    /// Room time in ticks of 90 kHz.
    private(set) var now = Self.origin
    private var audioTime: Int64
    var framesPerSecond: Int64 = 30
    var hasAudio = true

    init(limits: HLSLimits = HLSLimits()) {
        packager = HLSPackager(
            HLSWindow(id: "abc", epoch: 1_000_000 - Double(Self.origin) / 90_000, limits: limits),
            audioDescription: [0x11, 0x88], audioBitRate: 96_000)
        audioTime = Self.origin * 8 / 15 - 10_000
    }

    var window: HLSWindow { packager.window }

    /// Real keyframes of two sizes: their parameter sets are read.
    static let (small, large) = (keyframe(160, 96), keyframe(320, 180))

    private static func keyframe(_ width: Int, _ height: Int) -> [UInt8] {
        let picture = Picture(width: width, height: height)
        picture.fill(y: 90, u: 128, v: 128)
        let encoder = try? makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .h264, width: width, height: height, framesPerSecond: 30, bitRate: .kilobits(200)))
        return (try? encoder?.encode(picture, timestamp: 0, forceKeyframe: true))??.data ?? []
    }

    /// What no decoder has to read.
    static let difference: [UInt8] = [0, 0, 0, 1, 0x41, 0x9A, 1, 2, 3]

    mutating func frame(keyframe: [UInt8]? = nil) {
        if hasAudio {
            while audioTime < now * 8 / 15 + 2000 {
                packager.append(audio: [1, 2, 3, 4], time: audioTime, count: 1024)
                audioTime += 1024
            }
        }
        packager.append(keyframe ?? Self.difference, isKeyframe: keyframe != nil, time: now)
        now += 90_000 / framesPerSecond
    }

    /// Frames of so many seconds, with keyframes at these seconds and, if `answers`, where one is requested.
    mutating func run(_ seconds: Double, keyframes: [Double] = [0], answers: Bool = false) {
        let start = now
        var left = keyframes.map { start + Int64($0 * 90_000) }
        while now < start + Int64(seconds * 90_000) {
            var isKeyframe = answers && packager.needsKeyframe
            if let next = left.first, now >= next {
                isKeyframe = true
                left.removeFirst()
            }
            if isKeyframe { packager.needsKeyframe = false }
            frame(keyframe: isKeyframe ? Self.small : nil)
        }
    }

    mutating func pass(_ seconds: Double) { now += Int64(seconds * 90_000) }
}

extension HLSSegment {
    var seconds: Double { Double(duration) / 90_000 }
}
