import Basics
import Testing

@testable import Codecs

@Suite struct ChangeMapTests {
    @Test("What was drawn anew has the newest generation, with every block that it touches")
    func change() {
        var map = ChangeMap(width: 100, height: 40)
        #expect(map.columns == 7 && map.rows == 3)
        #expect(map.changed.allSatisfy { $0 == 1 })
        map.advance()
        map.change(PixelRectangle(x: 15, y: 16, width: 2, height: 8))
        #expect(map.changed.enumerated().filter { $0.element == 2 }.map(\.offset) == [7, 8])
        // The last column is not a whole block, and what lies outside is nobody's.
        map.advance()
        map.change(PixelRectangle(x: 90, y: -5, width: 500, height: 6))
        #expect(map.changed.enumerated().filter { $0.element == 3 }.map(\.offset) == [5, 6])
        map.change(PixelRectangle(x: 400, y: 400, width: 5, height: 5))
        #expect(map.changed.filter { $0 == 3 }.count == 2)
    }

    @Test(
        "No scaled block is older than a sample from which it was made",
        arguments: [(640, 360), (426, 240), (320, 180), (1280, 720), (852, 480), (16, 16)])
    func scaled(width: Int, height: Int) {
        for index in 0..<40 {
            var map = ChangeMap(width: 1280, height: 720)
            map.advance()
            let point = (x: index * 397 % 1280, y: index * 131 % 720)
            map.change(PixelRectangle(x: point.x, y: point.y, width: 1, height: 1))
            let small = map.scaled(fromWidth: 1280, fromHeight: 720, toWidth: width, toHeight: height)
            #expect(small.columns == (width + 15) / 16 && small.generation == 2)
            let place = (x: point.x * width / 1280 / 16, y: point.y * height / 720 / 16)
            #expect(small.changed[place.y * small.columns + place.x] == 2)
            // And not much more than that is new.
            let share = Double(small.changed.filter { $0 == 2 }.count) * 256 / Double(width * height)
            #expect(share < max(0.02, 9 * 256 / Double(width * height)))
        }
    }
}

@Suite struct StillBlocksTests {
    private static let rate = BitRate.kilobits(500)

    /// Codes `count` pictures of four blocks, of which only the first changes.
    private func run(_ blocks: inout StillBlocks, _ map: inout ChangeMap, _ frames: Range<Int>, keyframeAt: Int? = nil)
    {
        for index in frames {
            map.advance()
            map.change(PixelRectangle(x: 0, y: 0, width: 16, height: 16))
            blocks.prepare(map, timestamp: Int64(index) * 3000, rate: Self.rate)
            blocks.noteCoded(isKeyframe: index == keyframeAt, timestamp: Int64(index) * 3000, rate: Self.rate)
        }
    }

    @Test("What stands still is coded for two seconds, then left alone but for a refresh; what moves is always coded")
    func still() {
        var blocks = StillBlocks()
        var map = ChangeMap(width: 32, height: 32)
        run(&blocks, &map, 0..<60)
        #expect(!blocks.hasStill && blocks.active == [1, 1, 1, 1])
        run(&blocks, &map, 60..<61)
        #expect(blocks.active == [1, 0, 0, 0])
        var refreshed = [0, 0, 0, 0]
        for frame in 61..<61 + StillBlocks.refresh {
            run(&blocks, &map, frame..<frame + 1)
            for index in 0..<4 { refreshed[index] += Int(blocks.active[index]) }
        }
        #expect(refreshed == [StillBlocks.refresh, 1, 1, 1])
    }

    @Test("A keyframe, a higher rate, a change and a picture without a map begin anew")
    func restart() {
        for number in 0..<5 {
            var blocks = StillBlocks()
            var map = ChangeMap(width: 32, height: 32)
            run(&blocks, &map, 0..<70, keyframeAt: number == 0 ? 69 : nil)
            map.advance()
            if number == 2 { map.change(PixelRectangle(x: 0, y: 0, width: 32, height: 32)) }
            blocks.prepare(
                number == 3 ? nil : map, timestamp: 210_000, rate: number == 1 ? .kilobits(700) : Self.rate)
            // The last has none of these.
            #expect(blocks.hasStill == (number == 4), "\(number)")
        }
    }

    @Test("Pictures that the encoder dropped do not make anything sharp")
    func dropped() {
        var blocks = StillBlocks()
        var map = ChangeMap(width: 32, height: 32)
        for index in 0..<200 {
            map.advance()
            blocks.prepare(map, timestamp: Int64(index) * 3000, rate: Self.rate)
        }
        #expect(!blocks.hasStill)
    }
}

@Suite(.serialized) struct StillPictureTests {
    private static let side = (width: 320, height: 192)

    /// Four tiles, of which the first moves.
    private func picture(_ index: Int, stills: [Picture]) -> Picture {
        let all = Picture(width: 2 * Self.side.width, height: 2 * Self.side.height)
        let tiles = [scene(index, width: Self.side.width, height: Self.side.height)] + stills
        for (number, tile) in tiles.enumerated() {
            Scaler.scale(
                from: tile, into: all, x: number % 2 * Self.side.width, y: number / 2 * Self.side.height,
                width: Self.side.width, height: Self.side.height)
        }
        return all
    }

    /// The tile of a picture.
    private func tile(_ number: Int, of picture: Picture) -> Picture {
        let part = Picture(width: Self.side.width, height: Self.side.height)
        for row in 0..<Self.side.height {
            let start =
                picture.y + (number / 2 * Self.side.height + row) * picture.yStride + number % 2 * Self.side.width
            (part.y + row * part.yStride).update(from: start, count: Self.side.width)
        }
        return part
    }

    /// Bytes of the last three seconds of ten, and the least quality of the moving and of the still tiles in them.
    private func run(
        _ codec: VideoCodec, isTold: Bool, rate: BitRate, losing: Bool = false
    ) throws -> (bytes: Int, moving: Double, still: Double) {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: codec, width: 2 * Self.side.width, height: 2 * Self.side.height, framesPerSecond: 30,
                bitRate: rate, temporalLayers: 2))
        let decoder = try VideoDecoder(codec: codec)
        let stills = (1...3).map { scene($0 * 1000, width: Self.side.width, height: Self.side.height) }
        var map = ChangeMap(width: 2 * Self.side.width, height: 2 * Self.side.height)
        var result = (bytes: 0, moving: 99.0, still: 99.0)
        for index in 0..<300 {
            let source = picture(index, stills: stills)
            map.advance()
            map.change(PixelRectangle(x: 0, y: 0, width: Self.side.width, height: Self.side.height))
            if isTold { source.changes = map }
            guard let frame = try encoder.encode(source, timestamp: Int64(index) * 3000, forceKeyframe: index == 120)
            else { continue }
            // A receiver on a thin link gets the base layer only.
            if losing, frame.temporalLayer == 1 { continue }
            guard let decoded = try decoder.decode(frame), index >= 210 else { continue }
            result.bytes += frame.data.count
            result.moving = min(result.moving, luminancePSNR(tile(0, of: source), tile(0, of: decoded)))
            for number in 1...3 {
                result.still = min(result.still, luminancePSNR(tile(number, of: source), tile(number, of: decoded)))
            }
        }
        return result
    }

    @Test(
        "An encoder that is told what stands still shows it as sharp, and what moves no worse, in no more bytes",
        arguments: [
            (VideoCodec.h264, 800, false), (.h264, 150, false), (.h264, 800, true), (.vp8, 800, false),
            (.vp8, 150, false), (.vp8, 800, true),
        ])
    func told(codec: VideoCodec, kilobits: Int, losing: Bool) throws {
        let rate = BitRate.kilobits(kilobits)
        let untold = try run(codec, isTold: false, rate: rate, losing: losing)
        let told = try run(codec, isTold: true, rate: rate, losing: losing)
        #expect(told.bytes <= untold.bytes * 21 / 20)
        #expect(told.moving > untold.moving - 0.5)
        #expect(told.still > untold.still - 1.5)
    }
}
