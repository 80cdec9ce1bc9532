import Basics
import Codecs
import Testing

/// AV1 of a shared screen at 60 kbit/s and five frames a second: 1,500 bytes a frame.
@Suite("A shared screen on a thin line", .serialized) struct ScreenPainterTests {
    private static let (width, height) = (640, 368)
    private static let budget = 1500

    /// Black dots on white in the density of text; `scrolled` lines further down the page.
    private func page(_ number: Int, scrolled: Int = 0) -> Picture {
        let picture = Picture(width: Self.width, height: Self.height)
        picture.fill(y: 235, u: 128, v: 128)
        for line in 0..<(Self.height + scrolled) / 24 + 1 {
            var random = SeededRandom(seed: UInt64(number * 1000 + line))
            for letter in 0..<40 where Int.random(in: 0..<6, using: &random) > 0 {
                for dot in 0..<15 where Bool.random(using: &random) {
                    let (x, y) = (20 + letter * 12 + dot % 3 * 3, 8 + line * 24 + dot / 3 * 3 - scrolled)
                    picture.fill(PixelRectangle(x: x, y: y, width: 3, height: 3), y: 16, u: 128, v: 128)
                }
            }
        }
        return picture
    }

    private final class Viewer {
        let encoder: any VideoEncoder
        let decoder: AV1TestDecoder
        var shown: Picture?
        var sizes: [Int] = []
        private var time: Int64 = 0

        init() throws {
            encoder = try makeVideoEncoder(
                VideoEncoderConfiguration(
                    codec: .av1, width: width, height: height, framesPerSecond: 5, bitRate: .kilobits(60),
                    content: .screen))
            decoder = try #require(AV1TestDecoder())
        }

        func show(_ picture: Picture, isKeyframe: Bool = false) throws {
            let frame = try #require(try encoder.encode(picture, timestamp: time, forceKeyframe: isKeyframe))
            time += 18_000
            sizes.append(frame.data.count)
            shown = decoder.decode(frame.data)
            #expect(shown != nil)
        }

        /// How many frames it takes until everything is shown.
        func frames(of picture: Picture, atMost most: Int = 100) throws -> Int {
            for count in 1...most {
                try show(picture)
                if !encoder.hasMore { return count }
            }
            return .max
        }

        func likeness(to picture: Picture) -> Double { shown.map { luminancePSNR(picture, $0) } ?? 0 }
    }

    @Test("a page that is turned comes bit by bit: no frame has the bits of a second, and then it is read")
    func pages() throws {
        let viewer = try Viewer()
        try viewer.show(page(1))
        #expect(viewer.encoder.hasMore && viewer.sizes[0] < Self.budget * 5, "\(viewer.sizes)")
        #expect(try viewer.frames(of: page(1)) < 60)
        #expect(viewer.likeness(to: page(1)) > 28)
        viewer.sizes = []
        let count = try viewer.frames(of: page(2))
        #expect((4..<60).contains(count) && viewer.likeness(to: page(2)) > 28, "\(count) frames")
        #expect(viewer.sizes.allSatisfy { $0 < Self.budget * 4 }, "\(viewer.sizes)")
        // From the top down.
        try viewer.show(page(3))
        let after = try #require(viewer.shown), wanted = page(3), before = page(2)
        let half = Self.height / 2
        func part(_ a: Picture, _ b: Picture, _ lines: Range<Int>) -> Int {
            lines.reduce(0) { sum, row in
                (0..<Self.width).reduce(sum) {
                    $0 + abs(Int(a.y[row * a.yStride + $1]) - Int(b.y[row * b.yStride + $1]))
                }
            }
        }
        #expect(part(after, before, half..<Self.height) < part(after, wanted, half..<Self.height))
        #expect(part(after, wanted, 0..<32) < part(after, before, 0..<32))
        // What stands still costs nothing.
        _ = try viewer.frames(of: page(3))
        viewer.sizes = []
        for _ in 0..<5 { try viewer.show(page(3)) }
        #expect(viewer.sizes.allSatisfy { $0 < 300 } && !viewer.encoder.hasMore, "\(viewer.sizes)")
    }

    @Test("a keyframe is coarse and small, and the page is sharp again soon")
    func keyframe() throws {
        let viewer = try Viewer()
        _ = try viewer.frames(of: page(1))
        viewer.sizes = []
        try viewer.show(page(1), isKeyframe: true)
        #expect(viewer.sizes[0] < Self.budget * 5 && viewer.encoder.hasMore && viewer.likeness(to: page(1)) < 20)
        #expect(try viewer.frames(of: page(1)) < 60)
        #expect(viewer.likeness(to: page(1)) > 28)
    }

    @Test("text that is scrolled moves with the picture", arguments: [6, -6])
    func scrolled(lines: Int) throws {
        let viewer = try Viewer()
        let start = lines < 0 ? 90 : 0
        _ = try viewer.frames(of: page(1, scrolled: start))
        viewer.sizes = []
        for step in 1...12 { try viewer.show(page(1, scrolled: start + step * lines)) }
        // A turned page is further away after twelve frames.
        #expect(viewer.likeness(to: page(1, scrolled: start + 12 * lines)) > 18)
        #expect(viewer.sizes.allSatisfy { $0 < Self.budget * 5 }, "\(viewer.sizes)")
        #expect(try viewer.frames(of: page(1, scrolled: start + 12 * lines)) < 30)
    }

    @Test("what changes all the time has its rate, and every part of it changes")
    func film() throws {
        let viewer = try Viewer()
        _ = try viewer.frames(of: page(1))
        viewer.sizes = []
        var seen = Set<Int>()
        for number in 2..<62 {
            let before = viewer.shown
            try viewer.show(page(number))
            guard let before, let shown = viewer.shown else { continue }
            for band in 0..<Self.height / 32 {
                let changes = (band * 32..<band * 32 + 32).contains { row in
                    (0..<Self.width).contains {
                        abs(Int(before.y[row * before.yStride + $0]) - Int(shown.y[row * shown.yStride + $0])) > 80
                    }
                }
                if changes { seen.insert(band) }
            }
        }
        let rate = viewer.sizes.reduce(0, +) / viewer.sizes.count
        #expect(rate < Self.budget * 3 / 2 && viewer.sizes.allSatisfy { $0 < Self.budget * 5 }, "\(viewer.sizes)")
        #expect(seen.count == Self.height / 32, "\(seen.sorted())")
    }
}
