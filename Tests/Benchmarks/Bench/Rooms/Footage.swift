import Basics
import Codecs
import Foundation

/// The media that every peer of the benchmark sends: ten seconds of a moving head before a blurred background, with a
/// camera's noise, encoded once; and two audio tracks, a voice and a quiet room.
struct Footage: Sendable {
    static let width = 640
    static let height = 360
    static let framesPerSecond = 30
    static let seconds = 10
    static let bitRate = BitRate.kilobits(500)
    static let audioRate = BitRate.kilobits(32)

    /// Frames that loop without a jump, with a keyframe every five seconds.
    let frames: [VideoCodec: [EncodedVideoFrame]]
    /// Opus packets of 20 ms.
    let voice: [[UInt8]]
    /// Noise below the mixer's threshold of speech.
    let quiet: [[UInt8]]

    init() throws(CodecError) {
        var frames: [VideoCodec: [EncodedVideoFrame]] = [:]
        let scene = HeadScene(width: Self.width, height: Self.height, loop: Self.seconds * Self.framesPerSecond)
        for codec in VideoCodec.received {
            let encoder = try makeVideoEncoder(
                VideoEncoderConfiguration(
                    codec: codec, width: Self.width, height: Self.height, framesPerSecond: Double(Self.framesPerSecond),
                    bitRate: Self.bitRate, keyframeInterval: .seconds(5)))
            var coded: [EncodedVideoFrame] = []
            for index in 0..<Self.seconds * Self.framesPerSecond {
                let timestamp = Int64(index * 90_000 / Self.framesPerSecond)
                // A frame that the encoder drops to keep its rate would be missing in each loop.
                if let frame = try encoder.encode(scene.picture(index), timestamp: timestamp, forceKeyframe: index == 0)
                {
                    coded.append(frame)
                }
            }
            frames[codec] = coded
        }
        self.frames = frames
        voice = try Self.audio(level: 0.2)
        quiet = try Self.audio(level: 0.0001)
    }

    private static func audio(level: Float) throws(CodecError) -> [[UInt8]] {
        let encoder = try OpusEncoder(bitRate: audioRate)
        var random = SeededRandom(seed: 7)
        var packets: [[UInt8]] = []
        for tick in 0..<seconds * 50 {
            let samples = (0..<960).map { index -> Float in
                let time = Double(tick * 960 + index) / 48_000
                // Four syllables a second of a buzzing voice with a varying pitch, and breath.
                let syllable = 0.35 + 0.65 * pow(sin(.pi * 4 * time), 2)
                let phase = 2 * .pi * (120 * time + 3 * sin(2 * .pi * 0.5 * time))
                let buzz = (1...12).reduce(0.0) { $0 + sin(Double($1) * phase) / Double($1) }
                let breath = Double.random(in: -0.2...0.2, using: &random)
                return level * Float(syllable * (buzz * 0.5 + breath))
            }
            packets.append(try encoder.encode(samples))
        }
        return packets
    }
}

/// Draws the head. Each picture depends on its index only.
struct HeadScene {
    private let width: Int
    private let height: Int
    private let loop: Int
    private let texture: [UInt8]
    private let noise: [Int8]

    /// - Parameter loop: the number of pictures in the loop.
    init(width: Int, height: Int, loop: Int) {
        self.width = width
        self.height = height
        self.loop = loop
        var random = SeededRandom(seed: 3)
        // Coarse random values, interpolated: walls, shelves, skin.
        let coarse = (0..<64 * 64).map { _ in Double.random(in: -1...1, using: &random) }
        texture = (0..<256 * 256).map { index in
            let x = Double(index % 256) / 4, y = Double(index / 256) / 4
            let left = Int(x), top = Int(y)
            func value(_ x: Int, _ y: Int) -> Double { coarse[(y % 64) * 64 + x % 64] }
            let fx = x - Double(left), fy = y - Double(top)
            let upper = value(left, top) * (1 - fx) + value(left + 1, top) * fx
            let lower = value(left, top + 1) * (1 - fx) + value(left + 1, top + 1) * fx
            return UInt8(128 + 40 * (upper * (1 - fy) + lower * fy))
        }
        noise = (0..<1 << 16).map { _ in Int8(Int.random(in: -2...2, using: &random)) }
    }

    func picture(_ index: Int) -> Picture {
        let picture = Picture(width: width, height: height)
        let turn = 2 * Double.pi * Double(index % loop) / Double(loop)
        let swayX = Int(30 * sin(3 * turn) + 8 * sin(11 * turn)), swayY = Int(6 * sin(7 * turn))
        let head = (x: width / 2 + swayX, y: height * 2 / 5 + swayY, rx: 70, ry: 95)
        let body = (x: width / 2 + swayX / 2, y: height + 20, rx: 190, ry: 150)
        let mouth = (x: head.x, y: head.y + 50, rx: 24, ry: 3 + Int(9 * abs(sin(20 * turn))))
        let grain = (index * 7919) & 0xFFFF
        for y in 0..<height {
            for x in 0..<width {
                var luma = Int(texture[(y & 255) << 8 | x & 255]) / 2 + 60 + x / 16
                if Self.isInside(body, x, y) {
                    luma = 70 + Int(texture[(y &+ swayY) & 255 << 8 | (x - swayX / 2) & 255]) / 4
                }
                if Self.isInside(head, x, y) {
                    luma = 120 + Int(texture[((y - swayY) & 255) << 8 | (x - swayX) & 255]) / 3
                }
                if Self.isInside(mouth, x, y) { luma = 50 }
                picture.y[y * picture.yStride + x] = UInt8(
                    clamping: luma + Int(noise[(grain &+ y &* 641 &+ x) & 0xFFFF]))
            }
        }
        for y in 0..<height / 2 {
            for x in 0..<width / 2 {
                let isSkin = Self.isInside(head, 2 * x, 2 * y), isCloth = Self.isInside(body, 2 * x, 2 * y)
                picture.u[y * picture.uStride + x] = isSkin ? 110 : isCloth ? 150 : 125
                picture.v[y * picture.vStride + x] = isSkin ? 155 : isCloth ? 115 : 130
            }
        }
        return picture
    }

    private static func isInside(_ shape: (x: Int, y: Int, rx: Int, ry: Int), _ x: Int, _ y: Int) -> Bool {
        let dx = (x - shape.x) * shape.ry, dy = (y - shape.y) * shape.rx
        return dx * dx + dy * dy < shape.rx * shape.rx * shape.ry * shape.ry
    }
}
