import Basics
import Codecs
import Testing

@testable import Mixing

@Suite("Motion of tiles") struct TileMotionTests {
    private func plain(_ luma: UInt8) -> Picture {
        let picture = Picture(width: 320, height: 180)
        picture.fill(y: luma, u: 128, v: 128)
        return picture
    }

    private func arranged(_ frames: [String: (x: Int, width: Int)]) -> Arranged {
        var arranged = Arranged()
        arranged.tiles = frames.sorted { $0.key < $1.key }.map {
            Tile(member: $0.key, x: $0.value.x, y: 0, width: $0.value.width, height: 180, fit: .cover, showsName: false)
        }
        return arranged
    }

    /// The left edge of the bright tile in the middle row.
    private func edge(of picture: Picture?) throws -> Int {
        let picture = try #require(picture)
        return try #require((0..<picture.width).first { picture.y[90 * picture.yStride + $0] > 150 })
    }

    private func compose(_ compositor: Compositor, _ arranged: Arranged, _ milliseconds: Int) -> Picture? {
        compositor.compose(arranged, at: .zero + .milliseconds(milliseconds)) { id in
            TileAppearance(name: "", picture: plain(id == "1" ? 200 : 60), pictureGeneration: 1)
        }
    }

    @Test("A tile moves to its new place in 200 ms, quickly at first, and is still then") func motion() throws {
        let compositor = Compositor(width: 640, height: 180)
        compositor.transition = .milliseconds(200)
        let before = arranged(["1": (0, 200)])
        let after = arranged(["1": (440, 200)])
        #expect(try edge(of: compose(compositor, before, 0)) == 0)
        #expect(compose(compositor, before, 33) == nil)
        var edges: [Int] = []
        for time in stride(from: 1000, through: 1200, by: 40) {
            edges.append(try edge(of: compose(compositor, after, time)))
        }
        #expect(edges == [0, 158, 282, 370, 422, 440])
        #expect(compose(compositor, after, 1240) == nil)
    }

    @Test("A change on the way begins where the tile is; without a transition it is there at once") func change() throws
    {
        let compositor = Compositor(width: 640, height: 180)
        compositor.transition = .milliseconds(200)
        let (left, right) = (arranged(["1": (0, 200)]), arranged(["1": (440, 200)]))
        _ = compose(compositor, left, 0)
        _ = compose(compositor, right, 1000)
        let middle = try edge(of: compose(compositor, right, 1060))
        #expect(try edge(of: compose(compositor, left, 1061)) == middle)
        compositor.transition = .zero
        #expect(try edge(of: compose(compositor, right, 1070)) == 440)
        #expect(compose(compositor, right, 1080) == nil)
    }

    @Test("All places on the way are even, and inside both frames' hull") func places() {
        var motion = TileMotion()
        let (from, to) = (
            PixelRectangle(x: 2, y: 4, width: 100, height: 80), PixelRectangle(x: 500, y: 300, width: 322, height: 200)
        )
        motion.begin(from: ["a": from], at: .zero, in: .milliseconds(200))
        for time in 0...220 {
            let frame = motion.frame(of: "a", to: to, at: .zero + .milliseconds(time))
            #expect((frame.x | frame.y | frame.width | frame.height) & 1 == 0)
            #expect(frame.x >= 2 && frame.y >= 4 && frame.x + frame.width <= 822 && frame.y + frame.height <= 500)
        }
        #expect(motion.frame(of: "a", to: to, at: .zero + .milliseconds(200)) == to)
        #expect(motion.frame(of: "b", to: to, at: .zero + .milliseconds(10)) == to)
    }
}
