import Basics
import Codecs
import Testing

@testable import Mixing

@Suite("Text") struct TextRendererTests {
    @Test(
        "Every script has its glyphs",
        arguments: [
            "Anna Kovács", "สมชาย ใจดี", "ليلى حداد", "山田 太郎", "김민준", "Мария", "דוד לוי", "अमित कुमार", "Ελένη",
        ])
    func scripts(name: String) throws {
        #expect(TextRenderer.shared.unknownGlyphCount(in: name) == 0)
        let label = try #require(
            TextRenderer.shared.overlay(.label(text: name, fontSize: 16, maxWidth: 300, isMuted: false)))
        let empty = try #require(
            TextRenderer.shared.overlay(.line(text: name, fontSize: 30, maxWidth: 4000, colour: Colour(0xFFFFFF))))
        #expect(label.width <= 300 && label.width > 30)
        #expect(empty.coverage > 0.03)
    }

    @Test("Long names are cut to the tile, and hostile ones do no harm") func limits() throws {
        let long = String(repeating: "Wolfeschlegelsteinhausen", count: 200)
        let label = try #require(
            TextRenderer.shared.overlay(.label(text: long, fontSize: 16, maxWidth: 200, isMuted: true)))
        #expect(label.width <= 202)
        for name in ["", "\u{0}", "\u{202E}abc", "a\nb", String(repeating: "\u{301}", count: 500), "🧑‍🚀"] {
            _ = TextRenderer.shared.overlay(.label(text: name, fontSize: 16, maxWidth: 200, isMuted: false))
            _ = TextRenderer.shared.overlay(.initials(name: name, diameter: 80))
        }
    }

    /// Each size takes memory for the life of the process.
    @Test("Labels have few sizes, each near the requested one") func sizes() {
        let wanted = Array(stride(from: 9.0, through: 60, by: 0.1))
        #expect(Set(wanted.map(TextRenderer.labelSize)).count <= 20)
        for size in wanted { #expect(abs(Double(TextRenderer.labelSize(nearest: size)) - size) <= size / 8) }
    }

    @Test("Overlays stay within the cache's size, and the last used one is kept") func cache() throws {
        let bytes = 128 << 10
        let text = TextRenderer(cacheBytes: bytes)
        var last: Overlay?
        for index in 0..<200 {
            let overlay = text.overlay(.initials(name: "Guest \(index)", diameter: 20 + index % 40))
            last = overlay
            #expect(text.cachedBytes <= bytes)
        }
        #expect(text.cachedBytes > bytes / 2)
        #expect(text.overlay(.initials(name: "Guest 199", diameter: 59)) === last)
    }

    @Test("Overlays that were not used between two calls are dropped") func unused() throws {
        let text = TextRenderer()
        let left = text.overlay(.initials(name: "Ada", diameter: 40))
        let stays = text.overlay(.initials(name: "Bob", diameter: 40))
        text.dropUnused()
        #expect(text.overlay(.initials(name: "Bob", diameter: 40)) === stays)
        text.dropUnused()
        #expect(text.cachedBytes == stays?.byteCount)
        #expect(text.overlay(.initials(name: "Ada", diameter: 40)) !== left)
    }

    @Test("Initials scale with the disc and stay centred", arguments: ["Anna Kovács", "山田 太郎", "ليلى حداد"])
    func discs(name: String) throws {
        for diameter in [32, 48, 140, 320] {
            let disc = try #require(TextRenderer.shared.overlay(.initials(name: name, diameter: diameter)))
            let canvas = Picture(width: diameter, height: diameter)
            canvas.fill(y: 16, u: 128, v: 128)
            disc.blend(over: canvas, x: 0, y: 0)
            let rows = (0..<diameter).filter { row in
                (0..<diameter).contains { canvas.y[row * canvas.yStride + $0] > 200 }
            }
            let columns = (0..<diameter).filter { column in
                (0..<diameter).contains { canvas.y[$0 * canvas.yStride + column] > 200 }
            }
            for ink in [rows, columns] {
                let (first, last) = (try #require(ink.first), try #require(ink.last))
                #expect(abs(Double(first + last + 1 - diameter) / 2) < Double(diameter) * 0.05, "\(diameter)")
                #expect((0.1...0.7).contains(Double(last + 1 - first) / Double(diameter)), "\(diameter)")
            }
        }
    }

    @Test(
        "Initials follow the script",
        arguments: [
            ("Anna Maria Kovács", "AK"), ("madonna", "M"), ("山田 太郎", "山"), ("ليلى حداد", "ل"), ("", "?"), ("  ", "?"),
        ])
    func initials(name: String, expected: String) { #expect(TextRenderer.initials(of: name) == expected) }

    /// How many pixels of an overlay have a colour.
    private func colouredPixels(_ overlay: Overlay) -> Int {
        let canvas = Picture(width: overlay.width, height: overlay.height)
        canvas.fill(y: 128, u: 128, v: 128)
        overlay.blend(over: canvas, x: 0, y: 0)
        return (0..<canvas.chromaHeight).reduce(0) { sum, row in
            sum
                + (0..<canvas.chromaWidth).count { column in
                    let (u, v) = (canvas.u[row * canvas.uStride + column], canvas.v[row * canvas.vStride + column])
                    return max(abs(Int(u) - 128), abs(Int(v) - 128)) > 24
                }
        }
    }

    @Test("Emoji in names and initials are drawn in colour", arguments: ["🚀 Rocket", "Zoë 🇩🇪", "👩‍🚀", "❤️ Ada", "李🍀"])
    func emoji(name: String) throws {
        let label = try #require(
            TextRenderer.shared.overlay(.label(text: name, fontSize: 20, maxWidth: 400, isMuted: false)))
        #expect(TextRenderer.shared.unknownGlyphCount(in: name) == 0)
        #expect(colouredPixels(label) >= 20)
        #expect(label.width < 200, "joined characters are one picture")
        let plain = try #require(
            TextRenderer.shared.overlay(.label(text: "Ada", fontSize: 20, maxWidth: 400, isMuted: false)))
        #expect(colouredPixels(plain) == 0)
        let only = try #require(
            TextRenderer.shared.overlay(.line(text: "🚀", fontSize: 64, maxWidth: 400, colour: Colour(0))))
        #expect(colouredPixels(only) > 200)
    }

    @Test(
        "Without a font for emoji a name is drawn without them",
        arguments: [
            ("🚀 Rocket", "Rocket"), ("Zoë 🇩🇪 Bär", "Zoë Bär"), ("李🍀", "李"), ("🚀🚀", nil), ("Ada 1 ©", nil),
            ("1️⃣ Ada", "Ada"), ("नमस्ते", nil),
        ])
    func emojiFallback(name: String, expected: String?) { #expect(Emoji.without(name) == expected) }
}
