import CFFmpeg
import CYUV

/// One I420 picture: 8 bit, limited range, BT.601.
///
/// One owner makes the picture and may write to it; once passed on, it is only read, by any number of threads. Chroma
/// planes are `(width + 1) / 2` × `(height + 1) / 2`. `@unchecked Sendable`: the planes are written only before the
/// picture is published, a rule that every maker in this target and the compositor follow. The plane pointers are valid
/// as long as the picture: hold it in a variable while they are in use, never in a temporary.
package final class Picture: @unchecked Sendable {
    /// In pixels.
    package let width: Int
    package let height: Int
    /// The first byte of each plane.
    package let y: UnsafeMutablePointer<UInt8>
    package let u: UnsafeMutablePointer<UInt8>
    package let v: UnsafeMutablePointer<UInt8>
    /// The distance from one row to the next, in bytes.
    package let yStride: Int
    package let uStride: Int
    package let vStride: Int
    /// When each of its blocks changed last; nil where nobody knows, so that an encoder codes all of them. Set by the
    /// maker, like the pixels.
    package var changes: ChangeMap?

    private let storage: Storage

    private enum Storage {
        /// Memory that the picture allocated, or that it returns to its pool.
        case memory(UnsafeMutableRawPointer, PicturePool.Store?)
        /// A decoder's frame, used without a copy.
        case frame(UnsafeMutablePointer<AVFrame>)
    }

    /// A picture with memory of its own, whose pixels are undefined.
    package convenience init(width: Int, height: Int) {
        let shape = PictureShape(width: width, height: height)
        self.init(shape: shape, memory: shape.allocate(), store: nil)
    }

    init(shape: PictureShape, memory: UnsafeMutableRawPointer, store: PicturePool.Store?) {
        width = shape.width
        height = shape.height
        let base = memory.assumingMemoryBound(to: UInt8.self)
        y = base
        u = base + shape.uOffset
        v = base + shape.vOffset
        yStride = shape.yStride
        uStride = shape.chromaStride
        vStride = shape.chromaStride
        storage = .memory(memory, store)
    }

    /// Takes over a decoded frame of AV_PIX_FMT_YUV420P; nil for any other format.
    init?(owning frame: consuming Frame) {
        let value = frame.pointer.pointee
        guard value.format == AV_PIX_FMT_YUV420P.rawValue, value.width > 0, value.height > 0,
            let y = value.data.0, let u = value.data.1, let v = value.data.2,
            value.linesize.0 > 0, value.linesize.1 > 0, value.linesize.2 > 0
        else { return nil }
        width = Int(value.width)
        height = Int(value.height)
        self.y = y
        self.u = u
        self.v = v
        yStride = Int(value.linesize.0)
        uStride = Int(value.linesize.1)
        vStride = Int(value.linesize.2)
        storage = .frame(frame.release())
    }

    deinit {
        switch storage {
        case .memory(let memory, let store):
            if let store { store.takeBack(memory) } else { memory.deallocate() }
        case .frame(let frame):
            var frame: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&frame)
        }
    }

    package var chromaWidth: Int { (width + 1) / 2 }
    package var chromaHeight: Int { (height + 1) / 2 }

    /// Paints the whole picture in one colour.
    package func fill(y luma: UInt8, u blue: UInt8, v red: UInt8) {
        fill(PixelRectangle(x: 0, y: 0, width: width, height: height), y: luma, u: blue, v: red)
    }

    /// Paints a rectangle in one colour, clipped to the picture. Odd edges include their chroma sample.
    package func fill(_ rectangle: PixelRectangle, y luma: UInt8, u blue: UInt8, v red: UInt8) {
        let area = rectangle.clipped(width: width, height: height)
        guard area.width > 0, area.height > 0 else { return }
        for row in area.y..<area.y + area.height {
            (y + row * yStride + area.x).update(repeating: luma, count: area.width)
        }
        let columns = area.x / 2..<(area.x + area.width + 1) / 2
        for row in area.y / 2..<(area.y + area.height + 1) / 2 {
            (u + row * uStride + columns.lowerBound).update(repeating: blue, count: columns.count)
            (v + row * vStride + columns.lowerBound).update(repeating: red, count: columns.count)
        }
    }

    /// A copy with memory of its own.
    package func copy() -> Picture {
        let picture = Picture(width: width, height: height)
        picture.replace(with: self)
        return picture
    }

    /// Copies the pixels of `other`, which must have the same size.
    package func replace(with other: Picture) {
        precondition(other.width == width && other.height == height, "pictures of different size")
        I420Copy(
            other.y, Int32(other.yStride), other.u, Int32(other.uStride), other.v, Int32(other.vStride),
            y, Int32(yStride), u, Int32(uStride), v, Int32(vStride), Int32(width), Int32(height))
    }
}

/// A rectangle of whole pixels, from the top left.
package struct PixelRectangle: Hashable, Sendable {
    package var x, y, width, height: Int

    package init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The part of the rectangle inside a picture of `width` × `height`; empty when there is none.
    package func clipped(width limitX: Int, height limitY: Int) -> PixelRectangle {
        let left = min(max(x, 0), limitX)
        let top = min(max(y, 0), limitY)
        let right = min(max(x &+ width, left), limitX)
        let bottom = min(max(y &+ height, top), limitY)
        return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
    }
}
