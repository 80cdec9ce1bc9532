import CYUV

/// A picture as bytes in memory that two processes share: its three planes, one after the other and without padding.
package enum PackedPicture {
    /// The longest side, in pixels.
    package static let longestSide = 16_384

    /// The bytes of a picture of this size; nil where it has no pixels, more than `maxPixels`, or a side that is too
    /// long.
    package static func byteCount(width: Int, height: Int, maxPixels: Int) -> Int? {
        guard (1...longestSide).contains(width), (1...longestSide).contains(height), width * height <= maxPixels else {
            return nil
        }
        return width * height + (width + 1) / 2 * ((height + 1) / 2) * 2
    }

    /// Room for every picture of at most `maxPixels`: odd sides have a chroma sample more.
    package static func capacity(maxPixels: Int) -> Int { maxPixels + maxPixels / 2 + 2 * longestSide }

    /// Copies the planes of `picture` to `memory`, which has room for them.
    package static func write(_ picture: Picture, to memory: UnsafeMutableRawPointer) {
        let planes = Planes(picture.width, picture.height, memory)
        I420Copy(
            picture.y, Int32(picture.yStride), picture.u, Int32(picture.uStride), picture.v, Int32(picture.vStride),
            planes.y, planes.width, planes.u, planes.chromaWidth, planes.v, planes.chromaWidth, planes.width,
            Int32(picture.height))
    }

    /// Fills `picture` from `memory`, which has the bytes of a picture of that size.
    package static func read(_ memory: UnsafeMutableRawPointer, into picture: Picture) {
        let planes = Planes(picture.width, picture.height, memory)
        I420Copy(
            planes.y, planes.width, planes.u, planes.chromaWidth, planes.v, planes.chromaWidth, picture.y,
            Int32(picture.yStride), picture.u, Int32(picture.uStride), picture.v, Int32(picture.vStride),
            planes.width, Int32(picture.height))
    }

    private struct Planes {
        let y, u, v: UnsafeMutablePointer<UInt8>
        let width, chromaWidth: Int32

        init(_ width: Int, _ height: Int, _ memory: UnsafeMutableRawPointer) {
            let chroma = (width + 1) / 2
            y = memory.assumingMemoryBound(to: UInt8.self)
            u = y + width * height
            v = u + chroma * ((height + 1) / 2)
            (self.width, chromaWidth) = (Int32(width), Int32(chroma))
        }
    }
}
