import Codecs

/// What lies behind all tiles: the background colour, and pictures of the layout. It is drawn once for an arrangement.
struct Ground {
    private var colour: Colour?
    private var pictures: [Ornament] = []
    /// nil: there are no pictures.
    private var drawn: Picture?

    /// Takes over the background of an arrangement. Returns whether it differs from the last one.
    mutating func follow(
        _ colour: Colour, _ arranged: Arranged, width: Int, height: Int, text: TextRenderer
    ) -> Bool {
        let hasPictures = arranged.ornaments.contains(where: \.isBehind)
        if colour == self.colour, !hasPictures, pictures.isEmpty { return false }
        let pictures = arranged.ornaments.filter(\.isBehind).enumerated()
            .sorted { ($0.element.z, $0.offset) < ($1.element.z, $1.offset) }.map(\.element)
        guard colour != self.colour || pictures != self.pictures else { return false }
        (self.colour, self.pictures) = (colour, pictures)
        drawn = nil
        if pictures.isEmpty { return true }
        let canvas = Picture(width: width, height: height)
        canvas.fill(colour)
        for ornament in pictures {
            guard case .image(let image) = ornament.content else { continue }
            // Not from the renderer's cache, in which a picture of the whole canvas would displace names.
            let overlay = Overlay(of: image, width: ornament.frame.width, height: ornament.frame.height)
            overlay?.blend(over: canvas, x: ornament.frame.x, y: ornament.frame.y)
        }
        drawn = canvas
        return true
    }

    func fill(_ canvas: Picture) {
        if let drawn { canvas.replace(with: drawn) } else if let colour { canvas.fill(colour) }
    }

    func fill(_ canvas: Picture, inside area: PixelRectangle) {
        if let drawn {
            canvas.copy(area, from: drawn, originX: 0, originY: 0)
        } else if let colour {
            canvas.fill(area, colour)
        }
    }
}
