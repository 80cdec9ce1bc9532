/// Paints a shared screen for the encoder of a thin line, as the line carries it: what is new replaces what stood there
/// cell by cell, from the top down.
///
/// A page of text has the bits of three seconds of such a line. An encoder that gets it at once makes one frame of them,
/// whatever rate it is told, and that frame would hold up the sound. So the encoder's quantizer is fixed, at which text
/// is read, and this controls its rate by the number of cells that change in a frame. A keyframe is coarse, and what
/// stands in it becomes sharp in the same way.
///
/// Changes are found in the samples: a screen comes as a video, of which each frame is new, and has an encoder's noise.
struct ScreenPainter {
    /// The side of a cell in samples.
    private static let side = 32
    /// The least sum of differences of a cell's luma for which it is painted: two for each sample.
    private static let noise = side * side * 2
    /// A keyframe has a twelfth of the width and the height.
    private static let coarseness = 12
    /// Bits that nothing needed are kept for as many frames.
    private static let savedFrames = 2.0
    /// Text that was scrolled by as many lines of samples at most, between two frames, is moved …
    private static let farthest = 160
    /// … where that leaves less than this part of the difference.
    private static let scrolledShare = 0.35

    /// What the encoder gets.
    let canvas: Picture
    /// Whether the canvas is not yet what the last picture was.
    private(set) var hasMore = false
    private let columns: Int
    private let rows: Int
    private let previous: Picture
    /// The cell at which painting goes on: from there to the end, then from the top, so that every cell has its turn.
    private var next = 0
    /// The bits that the frames may have beyond those that they had.
    private var allowance = 0.0
    /// The bits that a cell of text takes, as far as it is known.
    private var cellBits = 700.0
    /// How many cells the frame paints.
    private var painted = 0

    init(width: Int, height: Int) {
        canvas = Picture(width: width, height: height)
        previous = Picture(width: width, height: height)
        (columns, rows) = ((width + Self.side - 1) / Self.side, (height + Self.side - 1) / Self.side)
    }

    /// Paints what the frame has bits for.
    mutating func paint(_ picture: Picture, isKeyframe: Bool, bits: Double) {
        allowance = min(allowance + bits, bits * Self.savedFrames)
        painted = 0
        if isKeyframe {
            canvas.replace(with: Self.coarse(picture))
            (next, hasMore) = (0, true)
        } else {
            scroll(picture)
            paint((0..<columns * rows).filter { difference(picture, canvas, $0) > Self.noise }, picture)
        }
        previous.replace(with: picture)
    }

    private mutating func paint(_ cells: [Int], _ picture: Picture) {
        var room = allowance
        // What changes all the time must not keep what is below it from being painted.
        for cell in cells.filter({ $0 >= next }) + cells.filter({ $0 < next }) {
            guard room >= cellBits / 2 else {
                next = cell
                hasMore = true
                return
            }
            copy(cell, from: picture)
            (room, painted) = (room - cellBits, painted + 1)
        }
        (next, hasMore) = (0, false)
    }

    /// Notes how many bytes the frame has.
    mutating func noteCoded(bytes: Int) {
        allowance -= Double(bytes * 8)
        // Of a few cells the frame's own headers count too much.
        if painted >= 4 { cellBits = min(max(cellBits * 0.7 + Double(bytes * 8) / Double(painted) * 0.3, 80), 6000) }
    }

    // MARK: - Cells

    private static func coarse(_ picture: Picture) -> Picture {
        let (width, height) = (max(2, picture.width / coarseness & ~1), max(2, picture.height / coarseness & ~1))
        let small = Picture(width: width, height: height), full = Picture(width: picture.width, height: picture.height)
        Scaler.scale(from: picture, into: small, x: 0, y: 0, width: width, height: height)
        Scaler.scale(from: small, into: full, x: 0, y: 0, width: picture.width, height: picture.height)
        return full
    }

    private func area(_ cell: Int) -> PixelRectangle {
        PixelRectangle(
            x: cell % columns * Self.side, y: cell / columns * Self.side, width: Self.side, height: Self.side
        )
        .clipped(width: canvas.width, height: canvas.height)
    }

    private func copy(_ cell: Int, from source: Picture) {
        let area = area(cell)
        for row in area.y..<area.y + area.height {
            (canvas.y + row * canvas.yStride + area.x).update(
                from: source.y + row * source.yStride + area.x, count: area.width)
        }
        let (x, width) = (area.x / 2, (area.width + 1) / 2)
        for row in area.y / 2..<(area.y + area.height + 1) / 2 {
            (canvas.u + row * canvas.uStride + x).update(from: source.u + row * source.uStride + x, count: width)
            (canvas.v + row * canvas.vStride + x).update(from: source.v + row * source.vStride + x, count: width)
        }
    }

    /// The sum of the differences of a cell's luma.
    private func difference(_ a: Picture, _ b: Picture, _ cell: Int) -> Int {
        let area = area(cell)
        var sum = 0
        for row in area.y..<area.y + area.height {
            let (first, second) = (a.y + row * a.yStride + area.x, b.y + row * b.yStride + area.x)
            var column = 0
            while column < area.width {
                sum &+= abs(Int(first[column]) &- Int(second[column]))
                column &+= 1
            }
        }
        return sum
    }

    // MARK: - Scrolled text

    /// Moves the canvas as the picture was scrolled: what is moved has few bits, and what was not painted yet is still to
    /// be painted.
    private func scroll(_ picture: Picture) {
        let changed = (0..<columns * rows).filter { difference(picture, previous, $0) > Self.noise }
        guard changed.count * 8 > columns * rows, let shift = shift(picture, changed) else { return }
        let areas = changed.map(area)
        let (left, right) = (areas.map(\.x).min() ?? 0, areas.map { $0.x + $0.width }.max() ?? 0)
        let (top, bottom) = (areas.map(\.y).min() ?? 0, areas.map { $0.y + $0.height }.max() ?? 0)
        func move(_ plane: UnsafeMutablePointer<UInt8>, _ stride: Int, _ part: Int) {
            let lines = top / part..<bottom / part
            // Towards where it comes from, so that each line is read before it is written.
            for line in shift > 0 ? Array(lines) : lines.reversed() where lines.contains(line + shift / part) {
                (plane + line * stride + left / part).update(
                    from: plane + (line + shift / part) * stride + left / part, count: (right - left) / part)
            }
        }
        move(canvas.y, canvas.yStride, 1)
        move(canvas.u, canvas.uStride, 2)
        move(canvas.v, canvas.vStride, 2)
    }

    /// How far below the changed cells stood what they show now, in lines; nil: they are new.
    private func shift(_ picture: Picture, _ changed: [Int]) -> Int? {
        // One line of samples of each cell, and every other one of its columns.
        let lines = changed.map(area).filter { $0.width == Self.side }.enumerated().map { index, area in
            (x: area.x, y: area.y + index &* 7 % area.height)
        }
        func difference(_ shift: Int) -> Int? {
            var (sum, count) = (0, 0)
            for (x, y) in lines where (0..<picture.height).contains(y + shift) {
                let (new, old) = (
                    picture.y + y * picture.yStride + x, previous.y + (y + shift) * previous.yStride + x
                )
                var column = 0
                while column < Self.side {
                    sum &+= abs(Int(new[column]) &- Int(old[column]))
                    column &+= 2
                }
                count &+= 1
            }
            return count * 2 < lines.count ? nil : sum / max(count, 1)
        }
        guard let standing = difference(0), standing > 0 else { return nil }
        // The best, not the first that is good enough: strokes overlap with themselves a line further.
        let best = (1...Self.farthest).lazy.flatMap { [$0, -$0] }.map { (shift: $0, rest: difference($0) ?? .max) }
            .min { $0.rest < $1.rest }
        guard let best, Double(best.rest) < Double(standing) * Self.scrolledShare else { return nil }
        return best.shift
    }
}
