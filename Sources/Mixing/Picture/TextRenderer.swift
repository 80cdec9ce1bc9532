import Basics
import CPango
import Codecs

/// Draws names, initials and marks in any script: Pango shapes the text, orders right-to-left text and finds a font for
/// each character.
///
/// The server has one renderer, since a font map with all its fonts is large and its drawings are the same in every
/// room. Safe on any thread: text is drawn when it changes, not with every picture, so the lock is rarely contended.
///
/// Cairo and Pango keep every size of every font with its glyphs for the life of the process: the letters of discs at
/// each diameter from 16 to 800 pixels took 90 MB. Text is therefore drawn in few sizes only: those of
/// `labelSize(nearest:)`, and one for initials, whose outlines are scaled. A thousand names of random ideographs then
/// take 40 MB at most.
package final class TextRenderer: Sendable {
    /// The shared renderer.
    package static let shared = TextRenderer()

    /// The font size of initials in pixels; the outline is scaled to the disc.
    private static let initialsSize = 64
    /// Characters of a name that are drawn at most: longer names are unreadable, and shaping takes time.
    static let longestText = 120

    enum Key: Hashable {
        /// A pill with a name and signs before it: a crossed-out microphone, a screen. Sizes are in pixels.
        case label(
            text: String, fontSize: Int, maxWidth: Int, isMuted: Bool, isScreen: Bool = false,
            paint: LabelPaint = LabelPaint())
        /// A disc with the initials of the name, in the colour of the name.
        case initials(name: String, diameter: Int)
        /// A picture cut to a disc.
        case avatar(StillImage, diameter: Int)
        case hand(size: Int)
        case notRecorded(size: Int)
        case frozen(size: Int)
        /// Opaque outside of a circle, in a square of twice its radius.
        case outside(radius: Int)
        /// A ring in a square of twice its radius.
        case ring(radius: Int, thickness: Int, colour: Colour)
        /// A rectangle with round corners.
        case panel(width: Int, height: Int, radius: Int, colour: Colour)
        case image(LayoutImage, width: Int, height: Int)
        /// Text without a background, cut at `maxWidth` pixels.
        case line(text: String, fontSize: Int, maxWidth: Int, colour: Colour)
    }

    /// Accessed only with the lock held, which makes it safe to use its C objects on any thread.
    private struct State: @unchecked Sendable {
        var context: OpaquePointer?
        var cache: [Key: (overlay: Overlay, used: UInt64)] = [:]
        var bytes = 0
        var clock: UInt64 = 0
        /// The clock at the last call of `dropUnused`.
        var lastDrop: UInt64 = 0

        mutating func drop(_ key: Key) {
            if let gone = cache.removeValue(forKey: key) { bytes -= gone.overlay.byteCount }
        }
    }

    private let state: Guarded<State>
    private let family: String
    private let cacheBytes: Int

    /// - Parameters:
    ///   - family: font families in the order of preference, comma-separated; for characters that they lack, any
    ///     installed font is used.
    ///   - cacheBytes: the total size of the cached overlays, by default enough for a thousand participants; beyond it
    ///     the least recently used are dropped. Every new picture of a tile uses its label, so the visible overlays
    ///     must fit.
    package init(family: String = "Noto Sans, DejaVu Sans, sans-serif", cacheBytes: Int = 32 << 20) {
        (self.family, self.cacheBytes) = (family, cacheBytes)
        // A separate font map, because the default one belongs to the first thread that used it.
        var state = State()
        if let map = pango_cairo_font_map_new() {
            state.context = pango_font_map_create_context(map)
            g_object_unref(map)
        }
        self.state = Guarded(state)
    }

    deinit {
        state.withLock { if let context = $0.context { g_object_unref(UnsafeMutableRawPointer(context)) } }
    }

    /// The overlay from the cache, or drawn now; nil only when memory runs out.
    func overlay(_ key: Key) -> Overlay? {
        state.withLock { state in
            state.clock += 1
            if let known = state.cache[key] {
                state.cache[key]?.used = state.clock
                return known.overlay
            }
            guard let context = state.context, let overlay = draw(key, context) else { return nil }
            state.cache[key] = (overlay, state.clock)
            state.bytes += overlay.byteCount
            while state.bytes > cacheBytes, state.cache.count > 1,
                let oldest = state.cache.min(by: { $0.value.used < $1.value.used })
            {
                state.drop(oldest.key)
            }
            return overlay
        }
    }

    /// Drops overlays that were not used since the last call, such as names of participants who have left.
    package func dropUnused() {
        state.withLock { state in
            for (key, entry) in state.cache where entry.used <= state.lastDrop { state.drop(key) }
            state.lastDrop = state.clock
        }
    }

    /// The size of the cached overlays in bytes.
    package var cachedBytes: Int { state.withLock { $0.bytes } }

    /// The font size for a label of about `size` pixels: one of few sizes, at most an eighth away.
    static func labelSize(nearest size: Double) -> Int {
        let step = size < 12.5 ? 1 : size < 21 ? 2.0 : 4
        return Int((size / step).rounded() * step)
    }

    /// How many characters of a text are in no installed font, and are drawn as boxes.
    package func unknownGlyphCount(in text: String) -> Int {
        state.withLock { state in
            guard let context = state.context else { return text.count }
            return withLayout(context, text, size: 20, bold: false) { Int(pango_layout_get_unknown_glyphs_count($0)) }
                ?? text.count
        }
    }

    /// The first letters of the first and the last word; one letter in scripts without capitals.
    static func initials(of name: String) -> String {
        let words = name.split { !($0.isLetter || $0.isNumber) }
        guard let first = words.first?.first else { return name.first { !$0.isWhitespace }.map(String.init) ?? "?" }
        guard words.count > 1, let last = words.last?.first, isCased(first), isCased(last) else {
            return first.uppercased()
        }
        return first.uppercased() + last.uppercased()
    }

    /// Whether the letter's script has capitals: in other scripts two letters side by side would read as a word.
    private static func isCased(_ letter: Character) -> Bool { letter.isCased || letter.isNumber }

    // MARK: Drawing

    private func withLayout<R>(
        _ context: OpaquePointer, _ text: String, size: Int, bold: Bool, _ body: (OpaquePointer) -> R
    ) -> R? {
        guard let layout = pango_layout_new(context), let font = pango_font_description_new() else { return nil }
        defer {
            g_object_unref(UnsafeMutableRawPointer(layout))
            pango_font_description_free(font)
        }
        pango_font_description_set_family(font, family)
        pango_font_description_set_absolute_size(font, Double(size) * Double(PANGO_SCALE))
        pango_font_description_set_weight(font, bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_MEDIUM)
        pango_layout_set_font_description(layout, font)
        pango_layout_set_single_paragraph_mode(layout, 1)
        pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END)
        // A NUL would end the text early, and control characters would be drawn as boxes.
        let shown = String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(Self.longestText).filter { $0.value >= 0x20 && $0.value != 0x7F }))
        set(shown, layout)
        // Without a font for emoji, a name is better without them than with boxes.
        if pango_layout_get_unknown_glyphs_count(layout) > 0, let rest = Emoji.without(shown) { set(rest, layout) }
        return body(layout)
    }

    private func set(_ text: String, _ layout: OpaquePointer) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { pango_layout_set_text(layout, $0.baseAddress, Int32($0.count)) }
        }
    }

    private func draw(_ key: Key, _ context: OpaquePointer) -> Overlay? {
        switch key {
        case .label(let text, let fontSize, let maxWidth, let isMuted, let isScreen, let paint):
            label(
                context, text, Double(fontSize), Double(maxWidth),
                (isMuted ? [Marks.mutedMicrophone] : []) + (isScreen ? [Marks.screen(paint.colour)] : []), paint)
        case .outside(let radius):
            Overlay(width: 2 * radius, height: 2 * radius) { cairo in
                cairo_rectangle(cairo, 0, 0, Double(2 * radius), Double(2 * radius))
                cairo_arc(cairo, Double(radius), Double(radius), Double(radius), 0, 2 * .pi)
                cairo_set_fill_rule(cairo, CAIRO_FILL_RULE_EVEN_ODD)
                cairo_fill(cairo)
            }
        case .ring(let radius, let thickness, let colour):
            Overlay(width: 2 * radius, height: 2 * radius) { cairo in
                colour.set(on: cairo)
                cairo_set_line_width(cairo, Double(thickness))
                cairo_arc(
                    cairo, Double(radius), Double(radius), max(1, Double(radius) - Double(thickness) / 2), 0, 2 * .pi)
                cairo_stroke(cairo)
            }
        case .panel(let width, let height, let radius, let colour):
            Overlay(width: width, height: height) { cairo in
                Marks.roundedRectangle(cairo, 0, 0, Double(width), Double(height), radius: Double(radius))
                colour.set(on: cairo)
                cairo_fill(cairo)
            }
        case .image(let image, let width, let height): Overlay(of: image, width: width, height: height)
        case .initials(let name, let diameter): disc(context, name, Double(diameter))
        case .avatar(let picture, let diameter):
            Overlay(width: diameter, height: diameter) { cairo in
                let size = Double(diameter)
                cairo_arc(cairo, size / 2, size / 2, size / 2, 0, 2 * .pi)
                cairo_clip(cairo)
                Overlay.paint(picture, on: cairo, width: size, height: size, covers: true)
            }
        case .hand(let size): Overlay(width: size, height: size) { Marks.hand($0, size: Double(size)) }
        case .notRecorded(let size):
            Overlay(width: size, height: size) { Marks.notRecorded($0, size: Double(size)) }
        case .frozen(let size):
            Overlay(width: size, height: size / 2) { Marks.dots($0, width: Double(size), height: Double(size / 2)) }
        case .line(let text, let fontSize, let maxWidth, let colour):
            withLayout(context, text, size: fontSize, bold: true) { layout in
                if extents(layout).width > maxWidth {
                    pango_layout_set_width(layout, Int32(max(maxWidth, fontSize)) * PANGO_SCALE)
                }
                let box = extents(layout)
                return Overlay(width: box.width, height: box.height) { cairo in
                    colour.set(on: cairo)
                    cairo_move_to(cairo, Double(-box.x), Double(-box.y))
                    pango_cairo_show_layout(cairo, layout)
                }
            } ?? nil
        }
    }

    private func extents(_ layout: OpaquePointer) -> (x: Int, y: Int, width: Int, height: Int) {
        var logical = PangoRectangle()
        pango_layout_get_pixel_extents(layout, nil, &logical)
        return (Int(logical.x), Int(logical.y), Int(logical.width), Int(logical.height))
    }

    private func label(
        _ context: OpaquePointer, _ text: String, _ fontSize: Double, _ maxWidth: Double, _ signs: [Marks.Sign],
        _ paint: LabelPaint
    ) -> Overlay? {
        let height = (fontSize * 1.75 / 2).rounded() * 2
        let padding = fontSize * 0.55
        let sign = fontSize * 0.9, gap = fontSize * 0.3
        let step = sign + gap
        let before = Double(signs.count) * step - (signs.isEmpty || !text.isEmpty ? 0 : gap)
        let forText = maxWidth - 2 * padding - before
        return withLayout(context, text, size: Int(fontSize), bold: false) { layout in
            let natural = Double(extents(layout).width)
            let shows = !text.isEmpty && forText >= fontSize
            if natural > forText { pango_layout_set_width(layout, Int32(max(forText, fontSize)) * PANGO_SCALE) }
            let box = shows ? extents(layout) : (x: 0, y: 0, width: 0, height: 0)
            guard shows || !signs.isEmpty else { return nil }
            let width = 2 * padding + (shows ? before + Double(box.width) : Double(signs.count) * step - gap)
            return Overlay(width: Int(width.rounded(.up)), height: Int(height)) { cairo in
                Marks.roundedRectangle(cairo, 0, 0, (width / 2).rounded(.up) * 2, height, radius: height * 0.3)
                paint.background.set(on: cairo, opacity: paint.opacity)
                cairo_fill(cairo)
                for (index, draw) in signs.enumerated() {
                    draw(cairo, padding + Double(index) * step, (height - sign) / 2, sign)
                }
                guard shows else { return }
                paint.colour.set(on: cairo)
                cairo_move_to(
                    cairo, padding + before - Double(box.x), ((height - Double(box.height)) / 2).rounded())
                pango_cairo_show_layout(cairo, layout)
            }
        } ?? nil
    }

    private func disc(_ context: OpaquePointer, _ name: String, _ diameter: Double) -> Overlay? {
        withLayout(context, Self.initials(of: name), size: Self.initialsSize, bold: true) { layout in
            var ink = PangoRectangle()
            pango_layout_get_pixel_extents(layout, &ink, nil)
            return Overlay(width: Int(diameter), height: Int(diameter)) { cairo in
                let outline = outline(of: layout, in: cairo)
                defer { cairo_path_destroy(outline) }
                let colour = Colour.forName(name)
                cairo_arc(cairo, diameter / 2, diameter / 2, diameter / 2, 0, 2 * .pi)
                colour.set(on: cairo)
                cairo_fill(cairo)
                cairo_set_source_rgb(cairo, 1, 1, 1)
                // The ink is centred, not the line box, because initials have no descenders.
                cairo_translate(cairo, diameter / 2, diameter / 2)
                let scale = max(6, diameter * 0.4) / Double(Self.initialsSize)
                cairo_scale(cairo, scale, scale)
                cairo_translate(cairo, -Double(ink.width) / 2 - Double(ink.x), -Double(ink.height) / 2 - Double(ink.y))
                if let outline, outline.pointee.num_data > 0 {
                    cairo_append_path(cairo, outline)
                    cairo_fill(cairo)
                } else {
                    paintPicture(of: layout, ink, on: cairo)
                }
            }
        } ?? nil
    }

    /// The outline of the text. The canvas must not be scaled yet, because Pango keeps a font per scale.
    private func outline(of layout: OpaquePointer, in cairo: OpaquePointer) -> UnsafeMutablePointer<cairo_path_t>? {
        cairo_new_path(cairo)
        pango_cairo_layout_path(cairo, layout)
        defer { cairo_new_path(cairo) }
        return cairo_copy_path(cairo)
    }

    /// Draws text that has no outline, such as colour emoji, in its own size, and scales it as a picture.
    private func paintPicture(of layout: OpaquePointer, _ ink: PangoRectangle, on canvas: OpaquePointer) {
        guard ink.width > 0, ink.height > 0,
            let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, ink.width, ink.height)
        else { return }
        defer { cairo_surface_destroy(surface) }
        guard let cairo = cairo_create(surface) else { return }
        cairo_move_to(cairo, -Double(ink.x), -Double(ink.y))
        pango_cairo_show_layout(cairo, layout)
        cairo_destroy(cairo)
        cairo_set_source_surface(canvas, surface, Double(ink.x), Double(ink.y))
        cairo_paint(canvas)
    }
}
