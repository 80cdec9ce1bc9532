import Codecs

extension TilePainter {
    /// Draws the part of an ornament that is inside a rectangle.
    func paint(_ ornament: Ornament, _ text: String, inside piece: PixelRectangle, on canvas: Picture) {
        switch ornament.content {
        case .more: more(text, ornament.frame, piece, on: canvas)
        case .image(let image): picture(image, ornament.frame, piece, on: canvas)
        case .text(let style): line(text, style, ornament.frame, piece, on: canvas)
        }
    }

    /// The number on the first line, and the speaker's name on the second.
    private func more(_ label: String, _ frame: PixelRectangle, _ piece: PixelRectangle, on canvas: Picture) {
        let ground = Colour(0x262B33)
        let radius = min(style.radiusPixels(side), frame.width / 4 * 2, frame.height / 4 * 2)
        if radius == 0 {
            canvas.fill(piece, ground)
        } else {
            let key = TextRenderer.Key.panel(width: frame.width, height: frame.height, radius: radius, colour: ground)
            text.overlay(key)?.blend(over: canvas, x: frame.x, y: frame.y, inside: piece)
        }
        let lines = label.split(separator: "\n", maxSplits: 1).map(String.init)
        let large = TextRenderer.labelSize(nearest: min(max(Double(frame.height) * 0.3, 9), Double(side) / 10))
        let small = TextRenderer.labelSize(nearest: max(9, Double(large) * 0.45))
        let room = frame.width - 8
        guard let count = lines.first, room > 2 * small else { return }
        let name = lines.count > 1 ? lines[1] : ""
        let top = name.isEmpty ? frame.height / 2 : frame.height * 2 / 5
        draw(
            .line(text: count, fontSize: large, maxWidth: room, colour: style.label.paint.colour), in: frame,
            centre: top, piece, canvas)
        if !name.isEmpty {
            draw(
                .line(text: name, fontSize: small, maxWidth: room, colour: style.speaking), in: frame,
                centre: top + large, piece, canvas)
        }
    }

    private func picture(
        _ image: LayoutImage, _ frame: PixelRectangle, _ piece: PixelRectangle, on canvas: Picture
    ) {
        let key = TextRenderer.Key.image(image, width: frame.width, height: frame.height)
        text.overlay(key)?.blend(over: canvas, x: frame.x, y: frame.y, inside: piece)
    }

    private func line(
        _ text: String, _ style: LayoutText, _ frame: PixelRectangle, _ piece: PixelRectangle, on canvas: Picture
    ) {
        if let ground = style.background { canvas.fill(piece, ground) }
        let size = TextRenderer.labelSize(nearest: min(max(Double(frame.height) * 0.6, 9), 160))
        draw(
            .line(text: text, fontSize: size, maxWidth: frame.width, colour: style.colour), in: frame,
            centre: frame.height / 2, align: style.align, piece, canvas)
    }

    private func draw(
        _ key: TextRenderer.Key, in frame: PixelRectangle, centre: Int, align: Layout.Alignment = .center,
        _ piece: PixelRectangle, _ canvas: Picture
    ) {
        guard let overlay = text.overlay(key) else { return }
        let free = frame.width - overlay.width
        let x =
            switch align {
            case .start: 0
            case .center: free / 2 & ~1
            case .end: free & ~1
            }
        guard let inside = frame.intersection(piece) else { return }
        overlay.blend(over: canvas, x: frame.x + x, y: frame.y + (centre - overlay.height / 2) & ~1, inside: inside)
    }
}
