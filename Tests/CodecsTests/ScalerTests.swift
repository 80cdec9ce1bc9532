import Basics
import Codecs
import Testing

@Suite struct ScalerTests {
    @Test("Scaling stays in its rectangle", arguments: [Rotation.none, .clockwise90, .clockwise180, .clockwise270])
    func rectangle(rotation: Rotation) {
        let canvas = Picture(width: 160, height: 90)
        canvas.fill(y: 16, u: 128, v: 128)
        let source = Picture(width: 61, height: 43)
        source.fill(y: 200, u: 60, v: 70)
        Scaler.scale(from: source, rotation: rotation, into: canvas, x: 20, y: 10, width: 80, height: 50)
        for row in 0..<90 {
            for column in 0..<160 {
                let inside = (20..<100).contains(column) && (10..<60).contains(row)
                #expect(canvas.y[row * canvas.yStride + column] == (inside ? 200 : 16))
            }
        }
        #expect(canvas.u[5 * canvas.uStride + 10] == 60 && canvas.u[4 * canvas.uStride + 10] == 128)
        // A rectangle wholly or partly outside neither crashes nor changes other pixels.
        Scaler.scale(from: source, rotation: rotation, into: canvas, x: 150, y: 80, width: 80, height: 50)
        Scaler.scale(from: source, rotation: rotation, into: canvas, x: -500, y: 800, width: 80, height: 50)
        // libyuv's box filter rounds down by up to one.
        #expect(abs(Int(canvas.y[89 * canvas.yStride + 159]) - 200) <= 1 && canvas.y[0] == 16)
    }

    @Test("A rotation by 90° clockwise moves the bottom left corner to the top left")
    func turn() {
        let source = Picture(width: 64, height: 32)
        source.fill(y: 50, u: 128, v: 128)
        source.fill(PixelRectangle(x: 0, y: 16, width: 32, height: 16), y: 220, u: 128, v: 128)
        let target = Picture(width: 32, height: 64)
        Scaler.scale(from: source, rotation: .clockwise90, into: target, x: 0, y: 0, width: 32, height: 64)
        #expect(target.y[4 * target.yStride + 4] == 220)
        #expect(target.y[60 * target.yStride + 4] == 50 && target.y[4 * target.yStride + 28] == 50)
    }

    @Test("A crop shows only its part")
    func crop() {
        let source = Picture(width: 64, height: 32)
        source.fill(y: 50, u: 128, v: 128)
        source.fill(PixelRectangle(x: 32, y: 0, width: 32, height: 32), y: 220, u: 128, v: 128)
        let target = Picture(width: 48, height: 48)
        let part = PixelRectangle(x: 32, y: 0, width: 32, height: 32)
        Scaler.scale(from: source, crop: part, into: target, x: 0, y: 0, width: 48, height: 48)
        #expect((0..<48).allSatisfy { target.y[20 * target.yStride + $0] == 220 })
        #expect(
            Scaler.coverCrop(width: 640, height: 480, targetWidth: 160, targetHeight: 90)
                == PixelRectangle(x: 0, y: 60, width: 640, height: 360))
    }
}
