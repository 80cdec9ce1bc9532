package import Basics
import CYUV

/// Crops, turns and scales a picture straight into a rectangle of another, by libyuv.
package enum Scaler {
    /// Draws `crop` of `source` (all of it when nil), rotated by `rotation`, into the rectangle of `destination`.
    ///
    /// `crop` is in pixels of the source, before the rotation. The rectangle's origin is rounded down to even pixels,
    /// and the rectangle is clipped to the destination; no pixel outside is written. Shrinking averages all source
    /// pixels (libyuv's box filter). Allocates only for a rotation.
    package static func scale(
        from source: Picture, crop: PixelRectangle? = nil, rotation: Rotation = .none, into destination: Picture,
        at rectangle: PixelRectangle
    ) {
        let even = PixelRectangle(
            x: rectangle.x & ~1, y: rectangle.y & ~1, width: rectangle.width, height: rectangle.height)
        let target = even.clipped(width: destination.width, height: destination.height)
        let from = (crop ?? PixelRectangle(x: 0, y: 0, width: source.width, height: source.height))
            .clipped(width: source.width, height: source.height)
        guard target.width > 0, target.height > 0, from.width > 0, from.height > 0 else { return }
        if rotation == .none {
            scale(source, from, destination, target)
            return
        }
        // Scale first, then rotate: a smaller picture is cheaper to rotate.
        let size = rotation.isSideways ? (target.height, target.width) : (target.width, target.height)
        let upright = Picture(width: size.0, height: size.1)
        scale(source, from, upright, PixelRectangle(x: 0, y: 0, width: size.0, height: size.1))
        let planes = destination.planes(from: target.x, target.y)
        withExtendedLifetime(upright) {
            _ = I420Rotate(
                upright.y, Int32(upright.yStride), upright.u, Int32(upright.uStride), upright.v, Int32(upright.vStride),
                planes.y, Int32(destination.yStride), planes.u, Int32(destination.uStride), planes.v,
                Int32(destination.vStride),
                Int32(upright.width), Int32(upright.height), rotation.libyuv)
        }
    }

    /// Draws into the rectangle that is given by its origin and size.
    package static func scale(
        from source: Picture, crop: PixelRectangle? = nil, rotation: Rotation = .none, into destination: Picture,
        x: Int, y: Int, width: Int, height: Int
    ) {
        scale(
            from: source, crop: crop, rotation: rotation, into: destination,
            at: PixelRectangle(x: x, y: y, width: width, height: height))
    }

    /// The largest centred part of `width` × `height` with the aspect ratio of `targetWidth` × `targetHeight`, which
    /// `TileFit.cover` shows.
    package static func coverCrop(width: Int, height: Int, targetWidth: Int, targetHeight: Int) -> PixelRectangle {
        guard width > 0, height > 0, targetWidth > 0, targetHeight > 0 else {
            return PixelRectangle(x: 0, y: 0, width: max(width, 0), height: max(height, 0))
        }
        if width * targetHeight > height * targetWidth {
            let part = max(min(height * targetWidth / targetHeight, width), 1)
            return PixelRectangle(x: ((width - part) / 2) & ~1, y: 0, width: part, height: height)
        }
        let part = max(min(width * targetHeight / targetWidth, height), 1)
        return PixelRectangle(x: 0, y: ((height - part) / 2) & ~1, width: width, height: part)
    }

    private static func scale(_ source: Picture, _ from: PixelRectangle, _ destination: Picture, _ to: PixelRectangle) {
        // A crop that starts on an odd pixel would shift chroma by half a sample, so it starts one pixel earlier.
        let x = from.x & ~1
        let y = from.y & ~1
        let origin = source.planes(from: x, y)
        let planes = destination.planes(from: to.x, to.y)
        I420Scale(
            origin.y, Int32(source.yStride), origin.u, Int32(source.uStride), origin.v, Int32(source.vStride),
            Int32(from.width), Int32(from.height),
            planes.y, Int32(destination.yStride), planes.u, Int32(destination.uStride), planes.v,
            Int32(destination.vStride),
            Int32(to.width), Int32(to.height), kFilterBox)
    }
}

extension Picture {
    /// The addresses in the planes of an even pixel.
    func planes(from x: Int, _ y: Int) -> (
        y: UnsafeMutablePointer<UInt8>, u: UnsafeMutablePointer<UInt8>, v: UnsafeMutablePointer<UInt8>
    ) {
        (
            self.y + y * yStride + x,
            u + y / 2 * uStride + x / 2,
            v + y / 2 * vStride + x / 2
        )
    }
}

extension Rotation {
    fileprivate var libyuv: RotationMode {
        switch self {
        case .none: kRotate0
        case .clockwise90: kRotate90
        case .clockwise180: kRotate180
        case .clockwise270: kRotate270
        }
    }
}
