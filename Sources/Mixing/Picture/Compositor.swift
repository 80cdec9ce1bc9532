public import Codecs

/// The style that all tiles share.
public struct CompositorStyle: Hashable, Sendable {
    /// The border of a speaking participant's tile.
    public var speaking = Colour(0x4ADE80)
    /// The largest part of a picture that `TileFit.auto` crops to fill the tile; in a 16:9 tile 3:2 loses 16 %, 4:3
    /// loses 25 %.
    public var largestCrop = 0.2
    /// The bars beside pictures that are shown whole on request, such as screens.
    public var bars = Colour(0x0B0D10)
    /// The text of marks.
    public var text = Colour(0xFFFFFF)

    public init() {}
}

/// Draws a room's canvas from its tiles: only changed tiles are drawn, each scaled directly into the canvas.
///
/// Confined to one thread at a time. A picture that `compose` returned never changes again: the next one comes from the
/// pool, and the unchanged rest is copied into it (about 24 µs at 1280×720; scaling everything takes a third of a
/// millisecond). In the steady state only the picture's own object is allocated.
public final class Compositor {
    public let width: Int
    public let height: Int
    public let style: CompositorStyle
    /// The background of the layout; a change redraws the whole canvas.
    public var background: Colour

    /// The last composed picture; before the first it has the plain background.
    public private(set) var current: Picture

    private let pool: PicturePool
    private let painter: TilePainter
    private var shown: [Shown] = []
    private var shownBackground: Colour?
    private var changes: ChangeMap

    /// One part of `current` and the state from which it was drawn.
    private struct Shown {
        enum Part: Equatable {
            case tile(Tile)
            case ornament(Ornament)
        }

        var part: Part
        /// The state of a tile; nil: it was not drawn yet.
        var look: Look?
        /// The text of an ornament.
        var text: String?
        var backdrop = Backdrop()

        var frame: PixelRectangle {
            switch part {
            case .tile(let tile): tile.frame
            case .ornament(let ornament): ornament.frame
            }
        }

        var z: Int {
            switch part {
            case .tile(let tile): tile.z
            case .ornament(let ornament): ornament.z
            }
        }
    }

    /// `width` and `height` are rounded down to even pixels.
    public init(
        width: Int, height: Int, background: Colour = .canvas, style: CompositorStyle = CompositorStyle(),
        text: TextRenderer = .shared
    ) {
        self.width = max(2, width & ~1)
        self.height = max(2, height & ~1)
        self.background = background
        self.style = style
        pool = PicturePool(width: self.width, height: self.height, limit: 4)
        painter = TilePainter(side: min(self.width, self.height), style: style, text: text)
        current = pool.make()
        current.fill(background)
        changes = ChangeMap(width: self.width, height: self.height)
    }

    /// Draws the canvas of this arrangement; nil when it would be equal to the last one.
    ///
    /// - Parameters:
    ///   - arranged: the result of `Layout.arrange` for this canvas; parts outside are skipped.
    ///   - words: what the placeholders of texts stand for.
    ///   - appearance: called once for each tile, the lowest layer first.
    public func compose(
        _ arranged: Arranged, words: PictureWords = PictureWords(), appearance: (String) -> TileAppearance
    ) -> Picture? {
        var isNew = take(arranged) || shownBackground != background
        for index in shown.indices {
            guard case .ornament(let ornament) = shown[index].part else { continue }
            let text = words.text(of: ornament, in: arranged)
            // A text has no ground of its own, so what is below it must be drawn anew.
            if shown[index].text != text { isNew = true }
            shown[index].text = text
        }

        var canvas: Picture?
        var redrawn: [PixelRectangle] = []
        if isNew {
            let fresh = pool.make()
            fresh.fill(background)
            canvas = fresh
            shownBackground = background
            redrawn = [PixelRectangle(x: 0, y: 0, width: width, height: height)]
        }
        func target() -> Picture {
            if let canvas { return canvas }
            let copy = pool.make()
            copy.replace(with: current)
            canvas = copy
            return copy
        }
        for index in shown.indices {
            let frame = shown[index].frame
            switch shown[index].part {
            case .tile(let tile):
                let now = appearance(tile.member)
                let look = Look(now)
                guard look != shown[index].look || redrawn.contains(where: { $0.overlaps(frame) }) else { continue }
                painter.paint(tile, now, &shown[index].backdrop, on: target())
                shown[index].look = look
                redrawn.append(frame)
            case .ornament(let ornament):
                guard let text = shown[index].text else { continue }
                for piece in PixelRectangle.disjoint(redrawn.compactMap { $0.intersection(frame) }) {
                    painter.paint(ornament, text, inside: piece, on: target())
                }
            }
        }
        guard let canvas else { return nil }
        changes.advance()
        for frame in redrawn { changes.change(frame) }
        canvas.changes = changes
        current = canvas
        return canvas
    }

    /// Takes over a new arrangement. Returns whether it differs from the last one.
    private func take(_ arranged: Arranged) -> Bool {
        let parts =
            arranged.tiles.filter { isInside($0.frame) }.map { Shown.Part.tile($0) }
            + arranged.ornaments.filter { isInside($0.frame) }.map { .ornament($0) }
        let fresh = parts.map { Shown(part: $0) }
        let ordered = fresh.enumerated().sorted { ($0.element.z, $0.offset) < ($1.element.z, $1.offset) }.map(\.element)
        guard !ordered.elementsEqual(shown, by: { $0.part == $1.part }) else { return false }
        // A backdrop moves with its participant, so that it does not flash.
        var backdrops: [String: Backdrop] = [:]
        for part in shown {
            if case .tile(let tile) = part.part { backdrops[tile.member] = part.backdrop }
        }
        shown = ordered.map { part in
            guard case .tile(let tile) = part.part, var backdrop = backdrops[tile.member] else { return part }
            var part = part
            backdrop.fit(width: tile.width, height: tile.height)
            part.backdrop = backdrop
            return part
        }
        return true
    }

    private func isInside(_ frame: PixelRectangle) -> Bool {
        let isEven = (frame.x | frame.y | frame.width | frame.height) & 1 == 0
        return isEven && frame.x >= 0 && frame.y >= 0 && frame.width >= 2 && frame.height >= 2
            && frame.width <= width - frame.x && frame.height <= height - frame.y
    }
}
