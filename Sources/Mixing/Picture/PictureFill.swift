import Codecs

extension Picture {
    func fill(_ colour: Colour) {
        let (y, u, v) = colour.yuv
        fill(y: y, u: u, v: v)
    }

    func fill(_ rectangle: PixelRectangle, _ colour: Colour) {
        let (y, u, v) = colour.yuv
        fill(rectangle, y: y, u: u, v: v)
    }

    /// Copies a rectangle with even sides from `source`, whose origin is at the even point (`originX`, `originY`)
    /// of this picture.
    func copy(_ area: PixelRectangle, from source: Picture, originX: Int, originY: Int) {
        guard area.width > 0, area.height > 0 else { return }
        for row in area.y..<area.y + area.height {
            (y + row * yStride + area.x).update(
                from: source.y + (row - originY) * source.yStride + area.x - originX, count: area.width)
        }
        for row in area.y / 2..<(area.y + area.height) / 2 {
            let (from, x) = (row - originY / 2, (area.x - originX) / 2)
            (u + row * uStride + area.x / 2).update(from: source.u + from * source.uStride + x, count: area.width / 2)
            (v + row * vStride + area.x / 2).update(from: source.v + from * source.vStride + x, count: area.width / 2)
        }
    }
}
