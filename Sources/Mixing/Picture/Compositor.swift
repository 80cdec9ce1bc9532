package import Basics
package import Codecs

/// Draws a room's canvas from its tiles: only changed tiles are drawn, each scaled directly into the canvas.
///
/// Confined to one thread at a time. A picture that `compose` returned never changes again: the next one comes from the
/// pool, and the unchanged rest is copied into it (about 24 µs at 1280×720; scaling everything takes a third of a
/// millisecond). In the steady state only the picture's own object is allocated.
package final class Compositor {
    package let width: Int
    package let height: Int
    /// The look of the layout; a change redraws the whole canvas.
    package var style = TileStyle()
    /// The background of the layout; a change redraws the whole canvas.
    package var background: Colour
    /// How long tiles take to move to new places; zero: they are there at once.
    package var transition = Duration.zero

    /// The last composed picture; before the first it has the plain background.
    package private(set) var current: Picture

    private let pool: PicturePool
    private let text: TextRenderer
    private let corners = CornerMask()
    private var shown: [ShownPart] = []
    private var shownStyle: TileStyle?
    private var hasOverlaps = false
    private var motion = TileMotion()
    private var wasMoving = false
    private var ground = Ground()
    private var changes: ChangeMap
    /// The appearances of the tick that is being composed; kept for its memory.
    private var appearances: [TileAppearance?] = []

    /// `width` and `height` are rounded down to even pixels.
    package init(width: Int, height: Int, background: Colour = .canvas, text: TextRenderer = .shared) {
        self.width = max(2, width & ~1)
        self.height = max(2, height & ~1)
        self.background = background
        self.text = text
        pool = PicturePool(width: self.width, height: self.height, limit: 4)
        current = pool.make()
        current.fill(background)
        changes = ChangeMap(width: self.width, height: self.height)
    }

    /// Draws the canvas of this arrangement; nil when it would be equal to the last one.
    ///
    /// - Parameters:
    ///   - arranged: the result of `Layout.arrange` for this canvas; parts outside are skipped.
    ///   - words: what the placeholders of texts stand for.
    ///   - now: the time of the picture, by which tiles move.
    ///   - appearance: called once for each tile, the lowest layer first.
    package func compose(
        _ arranged: Arranged, words: PictureWords = PictureWords(), at now: Instant = .zero,
        appearance: (String) -> TileAppearance
    ) -> Picture? {
        var isNew = take(arranged, at: now)
        let isMoving = motion.isMoving(at: now)
        isNew = move(at: now) || isMoving || wasMoving || isNew || shownStyle != style
        isNew = ground.follow(background, arranged, width: width, height: height, text: text) || isNew
        (wasMoving, shownStyle) = (isMoving, style)
        appearances.removeAll(keepingCapacity: true)
        for index in shown.indices {
            switch shown[index].part {
            case .tile(let tile): appearances.append(appearance(tile.member))
            case .ornament(let ornament):
                let text = words.text(of: ornament, in: arranged)
                // A text has no ground of its own, so what is below it must be drawn anew.
                if shown[index].text != text { isNew = true }
                shown[index].text = text
                appearances.append(nil)
            }
        }
        defer { appearances.removeAll(keepingCapacity: true) }
        guard let (canvas, redrawn) = draw(all: isNew) else { return nil }
        changes.advance()
        for frame in redrawn { changes.change(frame) }
        canvas.changes = changes
        current = canvas
        return canvas
    }

    /// Draws what changed, or all parts; nil: nothing changed.
    private func draw(all isNew: Bool) -> (Picture, [PixelRectangle])? {
        let painter = TilePainter(side: min(width, height), style: style, text: text, corners: corners)
        let radius = style.radiusPixels(min(width, height))
        var canvas: Picture?
        var redrawn: [PixelRectangle] = []
        if isNew {
            let fresh = pool.make()
            ground.fill(fresh)
            canvas = fresh
            redrawn = [PixelRectangle(x: 0, y: 0, width: width, height: height)]
        } else if radius > 0, hasOverlaps {
            forgetBelowRoundCorners()
        }
        func target() -> Picture {
            if let canvas { return canvas }
            let copy = pool.make()
            copy.replace(with: current)
            canvas = copy
            return copy
        }
        if radius > 0, !isNew {
            // Before any tile: in the corners of one the tiles below it must remain.
            for index in shown.indices where appearances[index].map({ Look($0) != shown[index].look }) ?? false {
                ground.fill(target(), inside: shown[index].frame)
            }
        }
        for index in shown.indices {
            let frame = shown[index].frame
            switch shown[index].part {
            case .tile(let settled):
                guard let now = appearances[index] else { continue }
                let look = Look(now)
                guard look != shown[index].look || redrawn.contains(where: { $0.overlaps(frame) }) else { continue }
                painter.paint(settled, in: frame, now, &shown[index].backdrop, on: target())
                shown[index].look = look
                redrawn.append(frame)
            case .ornament(let ornament):
                guard let text = shown[index].text else { continue }
                for piece in PixelRectangle.disjoint(redrawn.compactMap { $0.intersection(frame) }) {
                    painter.paint(ornament, text, inside: piece, on: target())
                }
            }
        }
        return canvas.map { ($0, redrawn) }
    }

    /// Marks the tiles below those that will be drawn as not drawn: in the round corners of a tile the tile below it is
    /// seen.
    private func forgetBelowRoundCorners() {
        var changed = Set(
            shown.indices.filter { index in appearances[index].map { Look($0) != shown[index].look } ?? false })
        var waiting = Array(changed)
        while let index = waiting.popLast() {
            for other in shown.indices
            where appearances[other] != nil && !changed.contains(other)
                && shown[other].frame.overlaps(shown[index].frame)
            {
                shown[other].look = nil
                changed.insert(other)
                waiting.append(other)
            }
        }
    }

    /// Takes over a new arrangement. Returns whether it differs from the last one.
    private func take(_ arranged: Arranged, at now: Instant) -> Bool {
        let parts =
            arranged.tiles.filter { isInside($0.frame) }.map { ShownPart(.tile($0), $0.frame) }
            + arranged.ornaments.filter { isInside($0.frame) && !$0.isBehind }.map {
                ShownPart(.ornament($0), $0.frame)
            }
        let ordered = parts.enumerated().sorted { ($0.element.z, $0.offset) < ($1.element.z, $1.offset) }.map(\.element)
        guard !ordered.elementsEqual(shown, by: { $0.part == $1.part }) else { return false }
        var old: [String: ShownPart] = [:]
        for part in shown {
            if case .tile(let tile) = part.part { old[tile.member] = part }
        }
        shown = ordered.map { part in
            guard case .tile(let tile) = part.part, let before = old[tile.member] else { return part }
            var part = part
            // A backdrop moves with its participant, so that it does not flash.
            part.backdrop = before.backdrop
            part.backdrop.fit(width: tile.width, height: tile.height)
            return part
        }
        hasOverlaps = shown.indices.contains { index in
            shown[..<index].contains { $0.frame.overlaps(shown[index].frame) }
        }
        if transition > .zero, !old.isEmpty {
            motion.begin(from: old.mapValues(\.frame), at: now, in: transition)
        } else {
            motion.stop()
        }
        return true
    }

    /// Moves tiles to their places of this moment. Returns whether one moved.
    private func move(at now: Instant) -> Bool {
        var hasMoved = false
        for index in shown.indices {
            guard case .tile(let tile) = shown[index].part else { continue }
            let frame = motion.frame(of: tile.member, to: tile.frame, at: now)
            if frame == shown[index].frame { continue }
            shown[index].frame = frame
            shown[index].backdrop.fit(width: frame.width, height: frame.height)
            hasMoved = true
        }
        return hasMoved
    }

    private func isInside(_ frame: PixelRectangle) -> Bool {
        let isEven = (frame.x | frame.y | frame.width | frame.height) & 1 == 0
        return isEven && frame.x >= 0 && frame.y >= 0 && frame.width >= 2 && frame.height >= 2
            && frame.width <= width - frame.x && frame.height <= height - frame.y
    }
}

/// One part of the canvas and the state from which it was drawn.
private struct ShownPart {
    enum Part: Equatable {
        case tile(Tile)
        case ornament(Ornament)
    }

    let part: Part
    /// Where it is drawn: a tile may be on its way to its own frame.
    var frame: PixelRectangle
    /// The state of a tile; nil: it was not drawn yet.
    var look: Look?
    /// The text of an ornament.
    var text: String?
    var backdrop = Backdrop()

    init(_ part: Part, _ frame: PixelRectangle) {
        self.part = part
        self.frame = frame
    }

    var z: Int {
        switch part {
        case .tile(let tile): tile.z
        case .ornament(let ornament): ornament.z
        }
    }
}
