import Basics
import Codecs

/// Draws one tile: picture or avatar, border, label and marks.
struct TilePainter {
    /// The shorter side of the canvas, by which marks and labels are sized.
    let side: Int
    let style: TileStyle
    let text: TextRenderer
    let corners: CornerMask

    /// The bars beside pictures that are shown whole on request, such as screens.
    private static let bars = Colour(0x0B0D10)

    /// Draws a tile. Every pixel of it is written, so that nothing of an earlier drawing remains; outside of round
    /// corners those that were there before are.
    ///
    /// - Parameter frame: where the tile is now, which may be on its way to its own frame.
    func paint(
        _ settled: Tile, in frame: PixelRectangle, _ appearance: TileAppearance, _ backdrop: inout Backdrop,
        on canvas: Picture
    ) {
        var tile = settled
        (tile.x, tile.y, tile.width, tile.height) = (frame.x, frame.y, frame.width, frame.height)
        let radius = min(style.radiusPixels(side), frame.width / 4 * 2, frame.height / 4 * 2)
        if radius > 0 { corners.keep(frame, radius: radius, from: canvas) }
        if let picture = appearance.picture, appearance.state != .avatar {
            place(picture, appearance.rotation, in: tile, &backdrop, on: canvas)
            if appearance.state == .frozen {
                canvas.dim(tile.frame, luma: 120, chroma: 120)
                let size = max(20, min(tile.width, tile.height) / 4) & ~1
                blend(.frozen(size: min(size, 96)), centredIn: tile, on: canvas)
            }
        } else {
            paintAvatar(appearance, tile, isMoving: tile.frame != settled.frame, on: canvas)
        }
        if let colour = appearance.isSpeaking ? style.speaking : style.border {
            border(tile.frame, colour, radius, on: canvas)
        }
        if radius > 0, let outside = text.overlay(.outside(radius: radius)) {
            corners.putBack(frame, radius: radius, outside: outside, on: canvas)
        }
        label(tile, settled, appearance, radius, on: canvas)
        if appearance.handRaised { mark(.hand(size: markSize(tile)), .topRight, tile, radius, on: canvas) }
        if appearance.isLeftOut { mark(.notRecorded(size: markSize(tile)), .topLeft, tile, radius, on: canvas) }
    }

    private func markSize(_ tile: Tile) -> Int { min(max(tile.height / 6, 18), side / 14) & ~1 }

    /// Draws a mark in an upper corner, or below it where the label is there.
    private func mark(
        _ key: TextRenderer.Key, _ place: LabelStyle.Place, _ tile: Tile, _ radius: Int, on canvas: Picture
    ) {
        guard let mark = text.overlay(key) else { return }
        let gap = inset(radius)
        let isBelow = style.label.place == place
        mark.blend(
            over: canvas, x: place == .topLeft ? tile.x + gap : tile.x + tile.width - mark.width - gap,
            y: isBelow ? tile.y + tile.height - mark.height - gap : tile.y + gap)
    }

    /// The distance of labels and marks from the tile's edge.
    private func inset(_ radius: Int) -> Int { max(4, side / 90, radius * 2 / 5) & ~1 }

    // MARK: The picture

    private func place(
        _ picture: Picture, _ rotation: Rotation, in tile: Tile, _ backdrop: inout Backdrop, on canvas: Picture
    ) {
        let (width, height) = rotation.isSideways ? (picture.height, picture.width) : (picture.width, picture.height)
        let shape = Double(width) / Double(height), wanted = Double(tile.width) / Double(tile.height)
        let lost = 1 - min(shape, wanted) / max(shape, wanted)
        let covers =
            switch tile.fit {
            case .cover: true
            case .contain: lost < 0.01
            case .auto: lost <= TileFit.largestCrop
            }
        if covers {
            let crop = Scaler.coverCrop(
                width: picture.width, height: picture.height,
                targetWidth: rotation.isSideways ? tile.height : tile.width,
                targetHeight: rotation.isSideways ? tile.width : tile.height)
            Scaler.scale(from: picture, crop: crop, rotation: rotation, into: canvas, at: tile.frame)
            return
        }
        var inner = tile.frame
        if shape < wanted {
            inner.width = min(tile.width, max(2, Int((Double(tile.height) * shape / 2).rounded()) * 2))
            inner.x += (tile.width - inner.width) / 2 & ~1
        } else {
            inner.height = min(tile.height, max(2, Int((Double(tile.width) / shape / 2).rounded()) * 2))
            inner.y += (tile.height - inner.height) / 2 & ~1
        }
        let sides = sides(of: inner, in: tile.frame)
        if tile.fit == .contain {
            for side in sides { canvas.fill(side, Self.bars) }
        } else {
            let ground = backdrop.picture(for: picture, rotation: rotation, width: tile.width, height: tile.height)
            for side in sides { canvas.copy(side, from: ground, originX: tile.x, originY: tile.y) }
        }
        Scaler.scale(from: picture, rotation: rotation, into: canvas, at: inner)
    }

    private func sides(of inner: PixelRectangle, in outer: PixelRectangle) -> [PixelRectangle] {
        if inner.width < outer.width {
            let right = inner.x + inner.width
            return [
                PixelRectangle(x: outer.x, y: outer.y, width: inner.x - outer.x, height: outer.height),
                PixelRectangle(x: right, y: outer.y, width: outer.x + outer.width - right, height: outer.height),
            ]
        }
        let bottom = inner.y + inner.height
        return [
            PixelRectangle(x: outer.x, y: outer.y, width: outer.width, height: inner.y - outer.y),
            PixelRectangle(x: outer.x, y: bottom, width: outer.width, height: outer.y + outer.height - bottom),
        ]
    }

    // MARK: Labels and marks

    private func paintAvatar(_ appearance: TileAppearance, _ tile: Tile, isMoving: Bool, on canvas: Picture) {
        let colour = Colour.forName(appearance.name)
        // The background is a darkened shade of the disc's colour.
        canvas.fill(
            tile.frame,
            Colour(red: 26 + colour.red / 12, green: 29 + colour.green / 12, blue: 34 + colour.blue / 12))
        var diameter = min(Int(Double(min(tile.width, tile.height)) * 0.46), side / 3) & ~1
        // On its way a tile has many sizes, and a disc is drawn for each.
        if isMoving { diameter = diameter / 16 * 16 }
        guard diameter >= 8 else { return }
        let key: TextRenderer.Key =
            appearance.avatar.map { .avatar($0, diameter: diameter) }
            ?? .initials(name: appearance.name, diameter: diameter)
        blend(key, centredIn: tile, on: canvas)
    }

    /// Draws the label as it is in the tile's own frame, so that it is not drawn anew for each step on the way there.
    private func label(
        _ tile: Tile, _ settled: Tile, _ appearance: TileAppearance, _ radius: Int, on canvas: Picture
    ) {
        guard tile.showsName && !appearance.name.isEmpty || appearance.isMuted else { return }
        // The label is readable in small tiles and modest in large ones.
        let scale = Double(side) / 720
        let wanted =
            style.label.size.map { $0 * Double(side) }
            ?? min(max(Double(settled.height) * 0.075, 13 * scale), 20 * scale)
        let fontSize = TextRenderer.labelSize(nearest: max(9, wanted))
        let gap = inset(radius)
        let key = TextRenderer.Key.label(
            text: tile.showsName ? appearance.name : "", fontSize: fontSize, maxWidth: settled.width - 2 * gap,
            isMuted: appearance.isMuted, isScreen: appearance.isScreen && tile.showsName, paint: style.label.paint)
        guard settled.width > 2 * gap + 2 * fontSize, settled.height > 2 * gap + 2 * fontSize,
            let pill = text.overlay(key), pill.width <= tile.width - 2 * gap, pill.height <= tile.height - 2 * gap
        else { return }
        let free = tile.width - pill.width
        let x =
            switch style.label.place {
            case .topLeft, .bottomLeft: gap
            case .top, .bottom: free / 2 & ~1
            case .topRight, .bottomRight: free - gap
            }
        let y = style.label.place.isTop ? gap : tile.height - pill.height - gap
        pill.blend(over: canvas, x: tile.x + x, y: tile.y + y)
    }

    private func blend(_ key: TextRenderer.Key, centredIn tile: Tile, on canvas: Picture) {
        guard let overlay = text.overlay(key), overlay.width <= tile.width, overlay.height <= tile.height else {
            return
        }
        overlay.blend(
            over: canvas, x: tile.x + (tile.width - overlay.width) / 2 & ~1,
            y: tile.y + (tile.height - overlay.height) / 2 & ~1)
    }

    /// Draws the border inside the tile.
    private func border(_ frame: PixelRectangle, _ colour: Colour, _ radius: Int, on canvas: Picture) {
        let thickness = style.borderPixels(side)
        guard frame.width > 2 * thickness, frame.height > 2 * thickness else { return }
        let bottom = frame.y + frame.height - thickness
        canvas.fill(PixelRectangle(x: frame.x, y: frame.y, width: frame.width, height: thickness), colour)
        canvas.fill(PixelRectangle(x: frame.x, y: bottom, width: frame.width, height: thickness), colour)
        canvas.fill(PixelRectangle(x: frame.x, y: frame.y, width: thickness, height: frame.height), colour)
        canvas.fill(
            PixelRectangle(x: frame.x + frame.width - thickness, y: frame.y, width: thickness, height: frame.height),
            colour)
        guard radius > 0, let ring = text.overlay(.ring(radius: radius, thickness: thickness, colour: colour)) else {
            return
        }
        for (x, y) in [(frame.x, frame.y), (frame.x + frame.width - radius, frame.y)] {
            for top in [y, frame.y + frame.height - radius] {
                ring.blend(
                    over: canvas, x: x == frame.x ? x : x - radius, y: top == frame.y ? top : top - radius,
                    inside: PixelRectangle(x: x, y: top, width: radius, height: radius))
            }
        }
    }
}
