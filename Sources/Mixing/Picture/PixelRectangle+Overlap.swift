import Codecs

extension PixelRectangle {
    func overlaps(_ other: PixelRectangle) -> Bool {
        x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
    }

    func intersection(_ other: PixelRectangle) -> PixelRectangle? {
        guard overlaps(other) else { return nil }
        let (left, top) = (max(x, other.x), max(y, other.y))
        return PixelRectangle(
            x: left, y: top, width: min(x + width, other.x + other.width) - left,
            height: min(y + height, other.y + other.height) - top)
    }

    /// The parts of the rectangle outside `hole`, at most four.
    func parts(outside hole: PixelRectangle) -> [PixelRectangle] {
        guard let hole = intersection(hole) else { return [self] }
        let (right, bottom) = (hole.x + hole.width, hole.y + hole.height)
        return [
            PixelRectangle(x: x, y: y, width: width, height: hole.y - y),
            PixelRectangle(x: x, y: bottom, width: width, height: y + height - bottom),
            PixelRectangle(x: x, y: hole.y, width: hole.x - x, height: hole.height),
            PixelRectangle(x: right, y: hole.y, width: x + width - right, height: hole.height),
        ].filter { $0.width > 0 && $0.height > 0 }
    }

    /// Rectangles without overlaps that cover the same area.
    static func disjoint(_ rectangles: [PixelRectangle]) -> [PixelRectangle] {
        var result: [PixelRectangle] = []
        for rectangle in rectangles {
            result += result.reduce([rectangle]) { pieces, known in pieces.flatMap { $0.parts(outside: known) } }
        }
        return result
    }
}
