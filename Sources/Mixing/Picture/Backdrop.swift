import Basics
import Codecs

/// The background of a picture that does not fill its tile: the same picture, enlarged, darkened and blurred.
///
/// The backdrop is redrawn with every `period`th picture only, so that it is calm and costs almost nothing.
struct Backdrop {
    /// Pictures from one redraw to the next: two redraws a second at 30 pictures a second.
    private static let period = 15
    /// The size to which the picture is scaled first, which keeps only colours and large shapes.
    private static let coarse = (width: 16, height: 10)

    private var blurred: Picture?
    private var age = 0

    /// Drops the backdrop if its size is not that of the tile.
    mutating func fit(width: Int, height: Int) {
        if let blurred, blurred.width == width, blurred.height == height { return }
        blurred = nil
        age = 0
    }

    /// The backdrop for this picture, in the tile's size.
    mutating func picture(for source: Picture, rotation: Rotation, width: Int, height: Int) -> Picture {
        defer { age += 1 }
        if let blurred, blurred.width == width, blurred.height == height, age % Self.period != 0 { return blurred }
        let coarse = Picture(width: Self.coarse.width, height: Self.coarse.height)
        let crop = Scaler.coverCrop(
            width: source.width, height: source.height, targetWidth: rotation.isSideways ? height : width,
            targetHeight: rotation.isSideways ? width : height)
        Scaler.scale(
            from: source, crop: crop, rotation: rotation, into: coarse, x: 0, y: 0, width: coarse.width,
            height: coarse.height)
        coarse.dim(PixelRectangle(x: 0, y: 0, width: coarse.width, height: coarse.height), luma: 90, chroma: 150)
        // Two steps, because a single bilinear enlargement by this factor would show a grid.
        let middle = Picture(width: Self.coarse.width * 5, height: Self.coarse.height * 5)
        Scaler.scale(from: coarse, into: middle, x: 0, y: 0, width: middle.width, height: middle.height)
        let result = Picture(width: width, height: height)
        Scaler.scale(from: middle, into: result, x: 0, y: 0, width: width, height: height)
        blurred = result
        return result
    }
}

extension Picture {
    /// Scales brightness and colour to `luma` and `chroma` 256ths.
    func dim(_ rectangle: PixelRectangle, luma: Int, chroma: Int) {
        let area = rectangle.clipped(width: width, height: height)
        for row in area.y..<area.y + area.height {
            let line = y + row * yStride
            for x in area.x..<area.x + area.width { line[x] = UInt8(clamping: 16 + ((Int(line[x]) - 16) * luma) >> 8) }
        }
        for row in area.y / 2..<(area.y + area.height + 1) / 2 {
            let (blue, red) = (u + row * uStride, v + row * vStride)
            for x in area.x / 2..<(area.x + area.width + 1) / 2 {
                blue[x] = UInt8(clamping: 128 + ((Int(blue[x]) - 128) * chroma) >> 8)
                red[x] = UInt8(clamping: 128 + ((Int(red[x]) - 128) * chroma) >> 8)
            }
        }
    }
}
