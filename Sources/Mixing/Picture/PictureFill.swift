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
}
