import Codecs

/// The places of regions and their cells on a canvas, in even pixels.
struct CellGeometry {
    /// Even.
    let width: Int
    let height: Int
    /// The distance between cells as a fraction of the shorter side.
    let gapFraction: Double

    /// The frame of a region in pixels. Both edges are rounded by the same rule, so that regions that touch in the file
    /// touch in pixels and do not overlap.
    func frame(of region: Layout.Region) -> PixelRectangle {
        func edge(_ fraction: Double, _ extent: Int) -> Int {
            let pixels = (fraction * Double(extent) / 2).rounded() * 2
            return min(max(Int(exactly: pixels) ?? 0, 0), extent)
        }
        let left = edge(region.x, width), right = edge(region.x + region.width, width)
        let top = edge(region.y, height), bottom = edge(region.y + region.height, height)
        return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
    }

    private var gap: Int { Int((gapFraction * Double(min(width, height)) / 2).rounded()) * 2 }

    /// The largest even size with the aspect ratio in a cell, rounded down so that a tile never exceeds its cell.
    private func tileSize(_ cellWidth: Int, _ cellHeight: Int, _ aspect: Layout.Aspect) -> (width: Int, height: Int) {
        let best = aspect.largest(in: Double(cellWidth), Double(cellHeight))
        // A sixteenth of a pixel is added before truncation: 638 / (16/9) is 358.875, and a 16:9 tile of 638×358 is
        // meant.
        return (Int(best.width + 1.0 / 16) & ~1, Int(best.height + 1.0 / 16) & ~1)
    }

    func grid(in frame: PixelRectangle, count: Int, columns wanted: Int?, aspect: Layout.Aspect)
        -> [PixelRectangle]
    {
        guard count > 0 else { return [] }
        var best: (columns: Int, rows: Int, width: Int, height: Int) = (0, 0, 0, 0)
        for columns in (wanted.map { min($0, count)...min($0, count) } ?? 1...count) {
            let rows = (count + columns - 1) / columns
            let size = tileSize(
                (frame.width - (columns - 1) * gap) / columns, (frame.height - (rows - 1) * gap) / rows, aspect)
            // Among equal areas, fewer empty places look better.
            let area = size.width * size.height, bestArea = best.width * best.height
            if size.width >= 2, size.height >= 2,
                area > bestArea || area == bestArea && columns * rows < best.columns * best.rows
            {
                best = (columns, rows, size.width, size.height)
            }
        }
        guard best.columns > 0 else { return [] }
        let blockHeight = best.rows * best.height + (best.rows - 1) * gap
        let top = frame.y + (frame.height - blockHeight) / 2 & ~1
        return (0..<count).map { index in
            let row = index / best.columns
            let inRow = min(best.columns, count - row * best.columns)
            let rowWidth = inRow * best.width + (inRow - 1) * gap
            let left = frame.x + (frame.width - rowWidth) / 2 & ~1
            return PixelRectangle(
                x: left + index % best.columns * (best.width + gap), y: top + row * (best.height + gap),
                width: best.width,
                height: best.height)
        }
    }

    /// The cells of a strip: tiles as thick as the strip, as many as fit, so that nobody moves or changes size when
    /// participants join and leave. Only where the layout demands a number of tiles, they shrink to fit it.
    func strip(
        in frame: PixelRectangle, most: Int, direction: Layout.Direction, align: Layout.Alignment, mayShrink: Bool,
        aspect: Layout.Aspect
    ) -> [PixelRectangle] {
        guard most > 0 else { return [] }
        let isRow = direction == .row
        let length = isRow ? frame.width : frame.height
        var size = tileSize(frame.width, frame.height, aspect == .fill ? .wide : aspect)
        func along(_ size: (width: Int, height: Int)) -> Int { isRow ? size.width : size.height }
        guard along(size) >= 2 else { return [] }
        var count = min(most, (length + gap) / (along(size) + gap))
        if mayShrink, count < most {
            count = most
            let share = (length - (count - 1) * gap) / count
            size = tileSize(isRow ? share : frame.width, isRow ? frame.height : share, aspect == .fill ? .wide : aspect)
            guard size.width >= 2, size.height >= 2 else { return [] }
        }
        let used = count * along(size) + (count - 1) * gap
        let first =
            switch align {
            case .start: 0
            case .center: (length - used) / 2 & ~1
            case .end: (length - used) & ~1
            }
        let across = (isRow ? frame.height - size.height : frame.width - size.width) / 2 & ~1
        return (0..<count).map { index in
            let offset = first + index * (along(size) + gap)
            return PixelRectangle(
                x: frame.x + (isRow ? offset : across), y: frame.y + (isRow ? across : offset), width: size.width,
                height: size.height)
        }
    }
}
