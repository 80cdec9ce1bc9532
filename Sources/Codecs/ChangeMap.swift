/// When each part of a picture changed last, so that an encoder need not code again what stands still.
///
/// One map follows one source of pictures: a compositor advances it with each picture that it draws, and each picture
/// carries the map as it was then.
package struct ChangeMap: Sendable {
    /// A block is a macroblock: 16×16 luma samples in H.264 and VP8.
    package static let side = 16

    /// In blocks.
    package let columns: Int
    package let rows: Int
    /// The number of the picture, which grows with each.
    package private(set) var generation: UInt64 = 1
    /// The generation with which each block changed last, row by row.
    private(set) var changed: [UInt64]

    /// The map of a first picture, all of which is new.
    package init(width: Int, height: Int) {
        columns = Self.blocks(width)
        rows = Self.blocks(height)
        changed = [UInt64](repeating: 1, count: columns * rows)
    }

    /// How many blocks cover so many samples.
    static func blocks(_ length: Int) -> Int { max(1, (length + side - 1) / side) }

    /// Begins the next picture, of which nothing has changed yet.
    package mutating func advance() { generation += 1 }

    /// Marks what was drawn anew in the current picture.
    package mutating func change(_ rectangle: PixelRectangle) {
        let area = rectangle.clipped(width: columns * Self.side, height: rows * Self.side)
        guard area.width > 0, area.height > 0 else { return }
        let last = (area.x + area.width - 1) / Self.side
        for row in area.y / Self.side...(area.y + area.height - 1) / Self.side {
            for column in area.x / Self.side...last { changed[row * columns + column] = generation }
        }
    }

    /// The map of the same picture scaled to another size: a block changed when any block changed from which its
    /// samples, or their neighbours that a filter reads, were made.
    package func scaled(fromWidth: Int, fromHeight: Int, toWidth: Int, toHeight: Int) -> ChangeMap {
        var map = ChangeMap(width: toWidth, height: toHeight)
        map.generation = generation
        let across = (0..<map.columns).map { Self.sources(of: $0, of: columns, from: fromWidth, to: toWidth) }
        for row in 0..<map.rows {
            let down = Self.sources(of: row, of: rows, from: fromHeight, to: toHeight)
            for column in 0..<map.columns {
                var newest: UInt64 = 0
                for sourceRow in down {
                    for source in across[column] { newest = max(newest, changed[sourceRow * columns + source]) }
                }
                map.changed[row * map.columns + column] = newest
            }
        }
        return map
    }

    /// The blocks of one axis from which a block of the scaled picture is made.
    private static func sources(of block: Int, of count: Int, from: Int, to: Int) -> ClosedRange<Int> {
        let reach = max(1, from / max(to, 1) + 1)
        let first = (block * side * from / max(to, 1) - reach) / side
        let last = ((block + 1) * side * from / max(to, 1) + reach) / side
        let low = min(max(first, 0), count - 1)
        return low...min(max(last, low), count - 1)
    }
}
