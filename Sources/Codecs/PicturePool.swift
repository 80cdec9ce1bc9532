import Basics

/// Makes pictures of one size and reuses their memory.
///
/// A picture returns its memory when its last reference goes, on whichever thread that is.
package final class PicturePool: Sendable {
    package let width: Int
    package let height: Int
    private let store: Store

    /// - Parameter limit: how many idle pictures' memory is kept; any number may be in use.
    package init(width: Int, height: Int, limit: Int = 8) {
        self.width = width
        self.height = height
        store = Store(shape: PictureShape(width: width, height: height), limit: limit)
    }

    /// A picture whose pixels are undefined.
    package func make() -> Picture {
        Picture(shape: store.shape, memory: store.lend(), store: store)
    }

    /// How many blocks of memory are idle.
    package var idleCount: Int { store.idleCount }

    /// Outlives the pool while pictures of it are in use.
    final class Store: Sendable {
        let shape: PictureShape
        private let limit: Int
        private let idle = Guarded<[Idle]>([])

        /// A block of memory to which only the store refers, which makes it Sendable.
        private struct Idle: @unchecked Sendable { let memory: UnsafeMutableRawPointer }

        init(shape: PictureShape, limit: Int) {
            self.shape = shape
            self.limit = limit
        }

        var idleCount: Int { idle.withLock { $0.count } }

        func lend() -> UnsafeMutableRawPointer {
            idle.withLock { $0.popLast() }?.memory ?? shape.allocate()
        }

        func takeBack(_ memory: UnsafeMutableRawPointer) {
            let block = Idle(memory: memory)
            let kept = idle.withLock { list in
                if list.count < limit {
                    list.append(block)
                    return true
                }
                return false
            }
            if !kept { block.memory.deallocate() }
        }

        deinit {
            idle.withLock { list in
                for block in list { block.memory.deallocate() }
                list = []
            }
        }
    }
}

/// The layout of the planes in a picture's own memory.
struct PictureShape: Sendable {
    let width, height, yStride, chromaStride, uOffset, vOffset, byteCount: Int

    /// Rows start at multiples of 32 bytes, which speeds up the vector code of libyuv and x264.
    private static let alignment = 32

    init(width: Int, height: Int) {
        precondition(width > 0 && height > 0, "a picture has pixels")
        self.width = width
        self.height = height
        let aligned = { (value: Int) in (value + Self.alignment - 1) / Self.alignment * Self.alignment }
        yStride = aligned(width)
        chromaStride = aligned((width + 1) / 2)
        uOffset = yStride * height
        vOffset = uOffset + chromaStride * ((height + 1) / 2)
        // Vector code may read (not write) past the end of a row, by less than the alignment.
        byteCount = vOffset + chromaStride * ((height + 1) / 2) + Self.alignment
    }

    func allocate() -> UnsafeMutableRawPointer {
        .allocate(byteCount: byteCount, alignment: Self.alignment)
    }
}
