public import Codecs

/// Draws a layout without a call, for authors of layouts and for choosing one.
public enum LayoutPreview {
    /// Realistic names, some long and some in other scripts.
    private static let names = [
        "Anna Kovács", "Jonas Weber", "สมชาย ใจดี", "ليلى حداد", "山田 太郎", "Priya Nair", "João da Silva", "Мария Иванова",
        "דוד לוי",
        "Chloé Dubois", "김민준", "Nguyễn Thị Hoa",
    ]

    /// The canvas with `people` participants, of whom number `speaker` (from 1) speaks and, with `presentation`, the
    /// first one presents a screen. Behind the fourth, every third camera is off, and one picture is upright.
    public static func picture(
        of layout: Layout, people: Int, speaker: Int? = nil, presentation: Bool = false, width: Int = 1280,
        height: Int = 720,
        text: TextRenderer = .shared
    ) -> Picture {
        let count = min(max(people, 0), 1000)
        let members = (0..<count).map { index in
            LayoutMember(
                id: String(index + 1), isSpeaker: speaker == index + 1, speakerRank: speaker == index + 1 ? 0 : nil,
                isPresenting: presentation && index == 0, hasVideo: !isCameraOff(index), joinOrder: index)
        }
        let compositor = Compositor(width: width, height: height, background: layout.background, text: text)
        let tiles = layout.arrange(members, canvasWidth: width, canvasHeight: height, previous: [])
        let picture = compositor.compose(tiles: tiles) { id in
            let index = (Int(id) ?? 1) - 1
            let number = "\(index + 1)"
            return TileAppearance(
                name: names[index % names.count],
                picture: isCameraOff(index)
                    ? nil
                    : presentation && index == 0
                        ? screen(text) : camera(number, isUpright: index % 6 == 3, index, text),
                pictureGeneration: 1, isSpeaking: speaker == index + 1, isMuted: index % 4 == 1,
                handRaised: index % 9 == 2)
        }
        return picture ?? compositor.current
    }

    private static func isCameraOff(_ index: Int) -> Bool { index > 3 && index % 3 == 1 }

    /// A coloured picture with a number in the middle.
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
        if let overlay = text.overlay(.plain(text: number, fontSize: 130)) {
            overlay.blend(
                over: picture, x: (picture.width - overlay.width) / 2 & ~1,
                y: (picture.height - overlay.height) / 2 & ~1)
        }
        return picture
    }

    /// A window with lines of text, 1920×1080.
    private static func screen(_ text: TextRenderer) -> Picture {
        let picture = Picture(width: 1920, height: 1080)
        picture.fill(Colour(0xF4F5F7))
        picture.fill(PixelRectangle(x: 0, y: 0, width: 1920, height: 64), Colour(0x3A4150))
        if let title = text.overlay(.plain(text: "Quarterly report", fontSize: 32)) {
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
