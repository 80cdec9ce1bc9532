import Basics
import Codecs
import FoundationEssentials
import Glibc

/// The media of a participant without a file: a coloured picture with a moving bar, which flashes white for a tenth of
/// a second at each full second, with a beep of the same length. Flash and beep show whether audio and video arrive in
/// sync.
struct TestPattern {
    static let width = 640
    static let height = 360
    static let framesPerSecond = 30
    /// The beep's frequency in Hz, and its amplitude.
    static let beep = 1000.0
    static let level: Float = 0.25

    /// Selects the colour, so that participants can be distinguished.
    let seed: Int

    init(seed: Int) {
        self.seed = seed
    }

    /// Whether a picture is white. It is shown for one period from `time` on, and the middle of the period decides: if
    /// its start did, flashes would be late by half a period on average, and so would every measurement of lip sync.
    private static func isFlash(pictureAt time: Instant) -> Bool {
        let middle = time + .nanoseconds(500_000_000 / Int64(framesPerSecond))
        return middle.nanoseconds / 1_000_000 % 1000 < 100
    }

    /// Draws the picture for a time on the sender's clock.
    func draw(at time: Instant, into picture: Picture) {
        let milliseconds = time.nanoseconds / 1_000_000
        let hue = Double(seed % 12) / 12 * 2 * Double.pi
        let u = UInt8(128 + 55 * cos(hue)), v = UInt8(128 + 55 * cos(hue - Double.pi / 2))
        let isFlash = Self.isFlash(pictureAt: time)
        picture.fill(y: isFlash ? 230 : 90, u: isFlash ? 128 : u, v: isFlash ? 128 : v)
        // A pass of the bar takes 4 s: a faster one would be harder to encode and show nothing more.
        let x = Int(milliseconds % 4000) * (Self.width - 32) / 4000 & ~1
        picture.fill(PixelRectangle(x: x, y: 0, width: 32, height: 40), y: 200, u: 128, v: 128)
        picture.fill(
            PixelRectangle(x: Self.width - 32 - x, y: Self.height - 24, width: 32, height: 24), y: 40, u: 128, v: 128)
    }

    /// 20 ms of the audio track from a time on the sender's clock on.
    func samples(at time: Instant) -> [Float] {
        let first = time.ticks(at: 48_000)
        return (0..<960).map { index in
            let sample = first + Int64(index)
            let inSecond = sample % 48_000
            guard inSecond < 4800 else { return 0 }
            // A ramp of 5 ms at both ends avoids a click.
            let edge = Float(min(inSecond, 4800 - inSecond)) / 240
            return Self.level * min(edge, 1) * Float(sin(2 * Double.pi * Self.beep * Double(inSecond) / 48_000))
        }
    }
}
