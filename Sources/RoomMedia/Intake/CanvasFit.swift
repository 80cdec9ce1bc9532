import Basics
import Codecs

/// Scales large pictures down to the room's canvas: composing, for which the whole room waits, then costs the same as
/// with any other picture. The result still covers the canvas in both directions, whatever part of it a tile shows.
struct CanvasFit {
    private var pool: PicturePool?

    /// - Parameter canvas: in pixels; zero: not known yet.
    mutating func fitted(_ picture: Picture, _ rotation: Rotation, to canvas: (width: Int, height: Int)) -> Picture {
        guard picture.width * picture.height > SharedDecodeBudget.usualPixels else { return picture }
        let (across, down) = (Double(canvas.width), Double(canvas.height))
        let (width, height) = rotation.isSideways ? (down, across) : (across, down)
        let scale = max(width / Double(picture.width), height / Double(picture.height))
        guard width > 0, scale < 1 else { return picture }
        func even(_ side: Int) -> Int { max(2, Int((Double(side) * scale / 2).rounded(.up)) * 2) }
        let (small, low) = (even(picture.width), even(picture.height))
        let pool =
            pool.flatMap { $0.width == small && $0.height == low ? $0 : nil } ?? PicturePool(width: small, height: low)
        self.pool = pool
        let target = pool.make()
        Scaler.scale(from: picture, into: target, x: 0, y: 0, width: small, height: low)
        return target
    }
}
