import Codecs

/// Rounds the corners of tiles: what was on the canvas before a tile was painted is put back outside of the corners'
/// arcs. The kept pixels' memory is used again for each tile.
final class CornerMask {
    /// The four corners, as in a tile of twice the radius on each side.
    private var kept: Picture?

    /// The four corner squares of a tile, and their places in `kept`.
    private func corners(_ frame: PixelRectangle, _ radius: Int) -> [(square: PixelRectangle, x: Int, y: Int)] {
        let (right, bottom) = (frame.x + frame.width - radius, frame.y + frame.height - radius)
        return [
            (frame.x, frame.y, 0, 0), (right, frame.y, radius, 0), (frame.x, bottom, 0, radius),
            (right, bottom, radius, radius),
        ]
        .map { (PixelRectangle(x: $0.0, y: $0.1, width: radius, height: radius), $0.2, $0.3) }
    }

    /// Keeps the corners of `frame`. `radius` is even and at most half of both sides.
    func keep(_ frame: PixelRectangle, radius: Int, from canvas: Picture) {
        let kept =
            self.kept.flatMap { $0.width == 2 * radius ? $0 : nil } ?? Picture(width: 2 * radius, height: 2 * radius)
        self.kept = kept
        for corner in corners(frame, radius) {
            kept.copy(
                PixelRectangle(x: corner.x, y: corner.y, width: radius, height: radius), from: canvas,
                originX: corner.x - corner.square.x, originY: corner.y - corner.square.y)
        }
    }

    /// Puts back what was outside of the arcs.
    ///
    /// - Parameter outside: opaque outside of a circle of the radius.
    func putBack(_ frame: PixelRectangle, radius: Int, outside: Overlay, on canvas: Picture) {
        guard let kept, kept.width == 2 * radius else { return }
        for corner in corners(frame, radius) {
            outside.blend(
                kept, over: canvas, x: corner.square.x - corner.x, y: corner.square.y - corner.y, inside: corner.square)
        }
    }
}
