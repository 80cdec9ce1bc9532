import Basics
import Codecs

/// Draws one tile: picture or avatar, border, label and marks.
struct TilePainter {
    /// The shorter side of the canvas, by which marks and labels are sized.
    let side: Int
    let style: CompositorStyle
    let text: TextRenderer

    /// Draws the tile. Every pixel of it is written, so that nothing of an earlier drawing remains.
    func paint(_ tile: Tile, _ appearance: TileAppearance, _ backdrop: inout Backdrop, on canvas: Picture) {
        if let picture = appearance.picture, appearance.state != .avatar {
            place(picture, appearance.rotation, in: tile, &backdrop, on: canvas)
            if appearance.state == .frozen {
                canvas.dim(tile.frame, luma: 120, chroma: 120)
                let size = max(20, min(tile.width, tile.height) / 4) & ~1
                blend(.frozen(size: min(size, 96)), centredIn: tile, on: canvas)
            }
        } else {
            paintAvatar(appearance.name, tile, on: canvas)
        }
        if appearance.isSpeaking { border(tile.frame, on: canvas) }
        label(tile, appearance, on: canvas)
        if appearance.handRaised {
            let size = min(max(tile.height / 6, 18), side / 14) & ~1
            if let hand = text.overlay(.hand(size: size)) {
                hand.blend(over: canvas, x: tile.x + tile.width - hand.width - inset, y: tile.y + inset)
            }
        }
    }

    /// The distance of labels and marks from the tile's edge.
    private var inset: Int { max(4, side / 90) & ~1 }

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
            case .auto: lost <= style.largestCrop
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
            for side in sides { canvas.fill(side, style.bars) }
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

    private func paintAvatar(_ name: String, _ tile: Tile, on canvas: Picture) {
        let colour = Colour.forName(name)
        // The background is a darkened shade of the disc's colour.
        canvas.fill(
            tile.frame,
            Colour(red: 26 + colour.red / 12, green: 29 + colour.green / 12, blue: 34 + colour.blue / 12))
        let diameter = min(Int(Double(min(tile.width, tile.height)) * 0.46), side / 3) & ~1
        guard diameter >= 8 else { return }
        blend(.initials(name: name, diameter: diameter), centredIn: tile, on: canvas)
    }

    private func label(_ tile: Tile, _ appearance: TileAppearance, on canvas: Picture) {
        guard tile.showsName && !appearance.name.isEmpty || appearance.isMuted else { return }
        // The label is readable in small tiles and modest in large ones.
        let scale = Double(side) / 720
        let fontSize = TextRenderer.labelSize(
            nearest: max(9, min(max(Double(tile.height) * 0.075, 13 * scale), 20 * scale)))
        let key = TextRenderer.Key.label(
            text: tile.showsName ? appearance.name : "", fontSize: fontSize, maxWidth: tile.width - 2 * inset,
            isMuted: appearance.isMuted)
        guard tile.width > 2 * inset + 2 * fontSize, tile.height > 2 * inset + 2 * fontSize,
            let pill = text.overlay(key)
        else { return }
        pill.blend(over: canvas, x: tile.x + inset, y: tile.y + tile.height - pill.height - inset)
    }

    private func blend(_ key: TextRenderer.Key, centredIn tile: Tile, on canvas: Picture) {
        guard let overlay = text.overlay(key), overlay.width <= tile.width, overlay.height <= tile.height else {
            return
        }
        overlay.blend(
            over: canvas, x: tile.x + (tile.width - overlay.width) / 2 & ~1,
            y: tile.y + (tile.height - overlay.height) / 2 & ~1)
    }

    /// Draws the border inside the tile, 4 pixels wide on a canvas whose shorter side has 720. The width is even, so that chroma and
    /// luma end at the same pixel.
    private func border(_ frame: PixelRectangle, on canvas: Picture) {
        let thickness = max(2, side / 360 * 2)
        guard frame.width > 2 * thickness, frame.height > 2 * thickness else { return }
        let bottom = frame.y + frame.height - thickness
        canvas.fill(PixelRectangle(x: frame.x, y: frame.y, width: frame.width, height: thickness), style.speaking)
        canvas.fill(PixelRectangle(x: frame.x, y: bottom, width: frame.width, height: thickness), style.speaking)
        canvas.fill(PixelRectangle(x: frame.x, y: frame.y, width: thickness, height: frame.height), style.speaking)
        canvas.fill(
            PixelRectangle(x: frame.x + frame.width - thickness, y: frame.y, width: thickness, height: frame.height),
            style.speaking)
    }
}

extension Picture {
    /// Copies a rectangle with even sides from `source`, whose origin is at (`originX`, `originY`) of this picture.
    fileprivate func copy(_ area: PixelRectangle, from source: Picture, originX: Int, originY: Int) {
        guard area.width > 0, area.height > 0 else { return }
        for row in area.y..<area.y + area.height {
            (y + row * yStride + area.x).update(
                from: source.y + (row - originY) * source.yStride + area.x - originX, count: area.width)
        }
        for row in area.y / 2..<(area.y + area.height) / 2 {
            let (from, x) = (row - originY / 2, (area.x - originX) / 2)
            (u + row * uStride + area.x / 2).update(from: source.u + from * source.uStride + x, count: area.width / 2)
            (v + row * vStride + area.x / 2).update(from: source.v + from * source.vStride + x, count: area.width / 2)
        }
    }
}
