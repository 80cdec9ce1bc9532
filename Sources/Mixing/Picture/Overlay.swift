import CPango
import CYUV
import Codecs

/// A small picture to blend over the canvas: I420 with an opacity for each pixel. Drawn once, blended often.
final class Overlay: Sendable {
    /// In pixels; even.
    let width: Int
    let height: Int
    private let y: [UInt8]
    private let u: [UInt8]
    private let v: [UInt8]
    private let alpha: [UInt8]

    var byteCount: Int { y.count + u.count + v.count + alpha.count }

    /// Draws with Cairo on a transparent surface of at least this size.
    init?(width wantedWidth: Int, height wantedHeight: Int, draw: (OpaquePointer) -> Void) {
        width = max(2, (wantedWidth + 1) & ~1)
        height = max(2, (wantedHeight + 1) & ~1)
        guard width <= 8192, height <= 8192,
            let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, Int32(width), Int32(height))
        else { return nil }
        defer { cairo_surface_destroy(surface) }
        guard cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS, let context = cairo_create(surface) else {
            return nil
        }
        draw(context)
        cairo_destroy(context)
        cairo_surface_flush(surface)
        guard let pixels = cairo_image_surface_get_data(surface) else { return nil }
        let rowBytes = Int(cairo_image_surface_get_stride(surface))

        var y = [UInt8](repeating: 16, count: width * height)
        var alpha = [UInt8](repeating: 0, count: width * height)
        var u = [UInt8](repeating: 128, count: width / 2 * height / 2)
        var v = u
        let chromaWidth = width / 2
        for row in stride(from: 0, to: height, by: 2) {
            for column in stride(from: 0, to: width, by: 2) {
                // Chroma is the mean of the four pixels, weighted by opacity, which the sum of Cairo's premultiplied
                // values is.
                var red = 0, green = 0, blue = 0, opacity = 0
                for (dy, dx) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let pixel = pixels + (row + dy) * rowBytes + (column + dx) * 4
                    let a = Int(pixel[3])
                    guard a > 0 else { continue }
                    // ARGB32 is in native byte order: B, G, R, A on every machine that Swift supports.
                    let b = Int(pixel[0]), g = Int(pixel[1]), r = Int(pixel[2])
                    red += r
                    green += g
                    blue += b
                    opacity += a
                    let index = (row + dy) * width + column + dx
                    alpha[index] = pixel[3]
                    y[index] = Overlay.colour(r, g, b, a).yuv.y
                }
                guard opacity > 0 else { continue }
                let chroma = Overlay.colour(red, green, blue, opacity).yuv
                u[row / 2 * chromaWidth + column / 2] = chroma.u
                v[row / 2 * chromaWidth + column / 2] = chroma.v
            }
        }
        self.y = y
        self.u = u
        self.v = v
        self.alpha = alpha
    }

    private static func colour(_ red: Int, _ green: Int, _ blue: Int, _ alpha: Int) -> Colour {
        Colour(
            red: UInt8(clamping: red * 255 / alpha), green: UInt8(clamping: green * 255 / alpha),
            blue: UInt8(clamping: blue * 255 / alpha))
    }

    /// Blends the overlay over `canvas` with its upper left corner at an even point. An overlay that is not wholly
    /// inside is not drawn.
    func blend(over canvas: Picture, x: Int, y top: Int) {
        guard x >= 0, top >= 0, x + width <= canvas.width, top + height <= canvas.height else { return }
        blend(over: canvas, x: x, y: top, inside: PixelRectangle(x: x, y: top, width: width, height: height))
    }

    /// Blends the part of the overlay that is inside an even rectangle and the canvas. `x` and `top` are even.
    func blend(over canvas: Picture, x: Int, y top: Int, inside piece: PixelRectangle) {
        y.withUnsafeBufferPointer { y in
            u.withUnsafeBufferPointer { u in
                v.withUnsafeBufferPointer { v in
                    guard let y = y.baseAddress, let u = u.baseAddress, let v = v.baseAddress else { return }
                    let planes = Planes(y: y, u: u, v: v, yStride: width, chromaStride: width / 2)
                    blend(planes, over: canvas, x: x, y: top, inside: piece)
                }
            }
        }
    }

    /// Blends another picture of the overlay's size with the overlay's opacity.
    func blend(_ picture: Picture, over canvas: Picture, x: Int, y top: Int, inside piece: PixelRectangle) {
        guard picture.width == width, picture.height == height, picture.uStride == picture.vStride else { return }
        let planes = Planes(
            y: picture.y, u: picture.u, v: picture.v, yStride: picture.yStride, chromaStride: picture.uStride)
        blend(planes, over: canvas, x: x, y: top, inside: piece)
    }

    private struct Planes {
        var y, u, v: UnsafePointer<UInt8>
        var yStride, chromaStride: Int
    }

    private func blend(_ source: Planes, over canvas: Picture, x: Int, y top: Int, inside piece: PixelRectangle) {
        let place = PixelRectangle(x: x, y: top, width: width, height: height)
        let whole = PixelRectangle(x: 0, y: 0, width: canvas.width & ~1, height: canvas.height & ~1)
        guard x & 1 == 0, top & 1 == 0, (piece.x | piece.y | piece.width | piece.height) & 1 == 0,
            let area = place.intersection(piece)?.intersection(whole)
        else { return }
        let (column, row) = (area.x - x, area.y - top)
        let from = row * source.yStride + column, fromChroma = row / 2 * source.chromaStride + column / 2
        let toY = canvas.y + area.y * canvas.yStride + area.x
        let toU = canvas.u + area.y / 2 * canvas.uStride + area.x / 2
        let toV = canvas.v + area.y / 2 * canvas.vStride + area.x / 2
        alpha.withUnsafeBufferPointer { alpha in
            guard let alpha = alpha.baseAddress else { return }
            // Source and destination may be the same memory, because each sample is read before it is written.
            I420Blend(
                source.y + from, Int32(source.yStride), source.u + fromChroma, Int32(source.chromaStride),
                source.v + fromChroma, Int32(source.chromaStride), toY, Int32(canvas.yStride), toU,
                Int32(canvas.uStride), toV, Int32(canvas.vStride), alpha + row * width + column, Int32(width), toY,
                Int32(canvas.yStride), toU, Int32(canvas.uStride), toV, Int32(canvas.vStride), Int32(area.width),
                Int32(area.height))
        }
    }

    /// The mean opacity, 0…1, for tests.
    var coverage: Double { Double(alpha.reduce(0) { $0 + Int($1) }) / Double(255 * alpha.count) }
}
