import CPango
package import Codecs

/// Draws a layout without a call, for authors of layouts and for choosing one.
package struct LayoutPreview: Hashable, Sendable {
    /// How many people are in the room, at most 1000. Behind the fourth, every third camera is off, and one of six
    /// pictures is upright.
    package var people: Int
    /// Who speaks, from 1.
    package var speaker: Int?
    /// Whether the first one shares a screen.
    package var presentation = false
    /// Who is pinned, in this order, from 1.
    package var pinned: [Int] = []
    /// Who is a moderator, from 1.
    package var moderator: Int?
    /// For whom alone the picture is made, from 1.
    package var viewer: Int?
    /// Whether tiles show names; nil: as the layout says.
    package var names: Bool?
    /// The canvas, in pixels.
    package var width = 1280
    package var height = 720

    package init(people: Int) {
        self.people = min(max(people, 0), 1000)
    }

    /// Realistic names, some long and some in other scripts.
    private static let names = [
        "Anna Kovács", "Jonas Weber", "สมชาย ใจดี", "ليلى حداد", "山田 太郎", "Priya Nair", "João da Silva", "Мария Иванова",
        "דוד לוי", "Chloé Dubois", "김민준", "Nguyễn Thị Hoa",
    ]

    private static func name(_ index: Int) -> String { names[index % names.count] }

    /// The canvas with these people.
    package func picture(of layout: Layout, text: TextRenderer = .shared) -> Picture {
        let compositor = Compositor(width: width, height: height, background: layout.background, text: text)
        compositor.style = layout.style
        var arranged = layout.arrange(
            (0..<people).map(member), canvasWidth: width, canvasHeight: height, previous: [],
            viewer: viewer.map(String.init))
        if let names { for index in arranged.tiles.indices { arranged.tiles[index].showsName = names } }
        let words = PictureWords(room: "weekly", time: "09:41", date: "2026-01-15")
        let picture = compositor.compose(arranged, words: words) { id in
            let index = (Int(id) ?? 1) - 1
            return TileAppearance(
                name: Self.name(index),
                picture: isCameraOff(index)
                    ? nil
                    : presentation && index == 0
                        ? Self.screen(text) : Self.camera("\(index + 1)", isUpright: index % 6 == 3, index, text),
                pictureGeneration: 1, isSpeaking: speaker == index + 1, isMuted: index % 4 == 1,
                handRaised: index % 9 == 2)
        }
        return picture ?? compositor.current
    }

    private func member(_ index: Int) -> LayoutMember {
        let number = index + 1
        var member = LayoutMember(
            id: "\(number)", isSpeaker: speaker == number, speakerRank: speaker == number ? 0 : nil,
            isPresenting: presentation && index == 0, pinOrder: pinned.firstIndex(of: number),
            hasVideo: !isCameraOff(index), joinOrder: index)
        member.name = Self.name(index)
        member.role = moderator == number ? .moderator : .participant
        return member
    }

    private func isCameraOff(_ index: Int) -> Bool { index > 3 && index % 3 == 1 }

    /// Head and shoulders before a coloured wall, with a number.
    private static func camera(_ number: String, isUpright: Bool, _ index: Int, _ text: TextRenderer) -> Picture {
        let picture = isUpright ? Picture(width: 360, height: 640) : Picture(width: 640, height: 360)
        // A gradient makes cropping and scaling visible.
        let colour = Colour.named[index * 5 % Colour.named.count]
        for band in 0..<20 {
            let part = Double(band) / 19
            func shade(_ value: UInt8) -> UInt8 { UInt8(clamping: Int(Double(value) * (1.1 - 0.45 * part))) }
            let height = picture.height / 20
            picture.fill(
                PixelRectangle(x: 0, y: band * height, width: picture.width, height: height),
                Colour(red: shade(colour.red), green: shade(colour.green), blue: shade(colour.blue)))
        }
        let person = Overlay(width: picture.width, height: picture.height) { cairo in
            let (middle, bottom) = (Double(picture.width) / 2, Double(picture.height))
            if isUpright {
                cairo_translate(cairo, middle, bottom)
                cairo_scale(cairo, 1.5, 1.5)
                cairo_translate(cairo, -middle, -bottom)
            }
            cairo_set_source_rgba(cairo, 0.07, 0.08, 0.10, 0.55)
            cairo_arc(cairo, middle, bottom - 190, 62, 0, 2 * .pi)
            cairo_fill(cairo)
            Marks.roundedRectangle(cairo, middle - 125, bottom - 110, 250, 220, radius: 95)
            cairo_fill(cairo)
        }
        person?.blend(over: picture, x: 0, y: 0)
        if let overlay = text.overlay(.line(text: number, fontSize: 52, maxWidth: 200, colour: Colour(0xFFFFFF))) {
            overlay.blend(
                over: picture, x: (picture.width - overlay.width) / 2 & ~1, y: (picture.height - 90) & ~1)
        }
        return picture
    }

    /// A window with lines of text, 1920×1080.
    private static func screen(_ text: TextRenderer) -> Picture {
        let picture = Picture(width: 1920, height: 1080)
        picture.fill(Colour(0xF4F5F7))
        picture.fill(PixelRectangle(x: 0, y: 0, width: 1920, height: 64), Colour(0x3A4150))
        if let title = text.overlay(
            .line(text: "Quarterly report", fontSize: 32, maxWidth: 1000, colour: Colour(0xFFFFFF)))
        {
            title.blend(over: picture, x: 40, y: 10)
        }
        for line in 0..<22 {
            let length = 900 + (line * 397) % 800
            picture.fill(
                PixelRectangle(x: 80, y: 120 + line * 42, width: length, height: 16),
                Colour(line % 6 == 0 ? 0x3B6FB6 : 0xB9BEC8))
        }
        return picture
    }
}
