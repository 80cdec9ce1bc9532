import Testing

@testable import Conference

@Suite struct NamesTests {
    @Test(arguments: [
        "", " ", "\u{200B}", "\u{200B}\u{200C}\u{200D}\u{FEFF}", "\u{2060}", "\u{3164}", "\u{115F}", "\u{2800}",
        "\u{301}", "\u{AD}", "\u{E0041}",
        "\u{202E}", "\u{2066}\u{2069}", "\u{180E}", "\u{34F}",
    ])
    func `an invisible name is refused`(name: String) {
        #expect(Names.shown(name) == nil)
        #expect(!Names.isRoom(name))
    }

    @Test(arguments: [
        ("a\u{202E}nna", "anna"), ("\u{2067}Anna\u{2069}", "Anna"), ("An\u{200B}na", "Anna"),
        ("\u{61C}\u{200E}\u{200F}Anna", "Anna"),
        ("Anna\u{2028}Bo", "AnnaBo"), ("\u{FEFF}Anna", "Anna"), ("An\u{AD}na", "Anna"), (" Anna \n", "Anna"),
    ])
    func `controls that reorder or hide text are removed`(name: String, shown: String) {
        #expect(Names.shown(name) == shown)
    }

    @Test(arguments: [
        "Åsa", "אנה", "آنا", "می\u{200C}خواهم", "👩\u{200D}👩\u{200D}👧",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "❤\u{FE0F}",
        "नमस्ते", "…", "42",
    ])
    func `names of people stay unchanged`(name: String) { #expect(Names.shown(name) == name) }

    @Test func `a room name with invisible characters is refused`() {
        #expect(
            !Names.isRoom("kit\u{200B}chen") && !Names.isRoom("\u{202E}nehctik") && Names.isRoom("kitchen")
                && Names.isRoom("Küche 2"))
    }

    @Test func `no room has the name of the Socket.IO family`() {
        #expect(!Names.isRoom(Names.socketIOFamily))
        #expect(Names.isRoom("~socketio") && Names.isRoom("socketIO") && Names.isRoom("~socketIO2"))
    }

    @Test func `a long text is refused unread`() {
        #expect(Names.shown(String(repeating: "\u{200B}", count: 100_000) + "a") == nil)
    }

    @Test func `an id of a room is in the composed form`() {
        let (composed, decomposed) = ("K\u{FC}che", "Ku\u{308}che")
        #expect(Names.isRoom(composed) && !Names.isRoom(decomposed))
        #expect(Array(Names.composed(decomposed).utf8) == Array(composed.utf8))
        #expect(Array(Names.composed("kitchen 2").utf8) == Array("kitchen 2".utf8))
        // A Hangul syllable, and a mark that no letter composes with.
        #expect(Array(Names.composed("\u{1112}\u{1161}\u{11AB}").unicodeScalars) == ["\u{D55C}"])
        #expect(Names.isRoom("q\u{308}"))
    }
}
