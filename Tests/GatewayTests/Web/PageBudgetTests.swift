import Foundation
import Testing
import WebFiles

@testable import Admission
@testable import Gateway
@testable import Management
@testable import Settings
@testable import WebServer

/// What a browser fetches for a first call, as it goes over the line: a page that was opened once at 60 kbit/s showed
/// nothing for 40 s. Where one of these fails, something came into the page that should come later, or be smaller.
@Suite struct PageBudgetTests {
    /// The head of a request and that of its answer.
    private static let heads = 1000
    /// `GET /api/rooms/{room}` with 20 people, and the messages of a join.
    private static let answers = 6000

    private let files = Dictionary(WebFile.all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    /// The files that these mention, and those that they mention. The first script fetches that of the call by itself;
    /// what the call's script imports later comes when the user opens it.
    private func mentioned(by names: Set<String>) -> Set<String> {
        let texts = names.compactMap { files[$0] }.map { file in
            let text = String(decoding: file.content, as: UTF8.self)
            return file.name.hasSuffix(".html") ? text : text.replacing(/import\("[^"]+"\)/, with: "")
        }
        let found = names.union(files.keys.filter { name in texts.contains { $0.contains("\"/assets/\(name)\"") } })
        return found == names ? names : mentioned(by: found)
    }

    /// - Parameter names: one language of them is fetched.
    private func bytes(_ names: Set<String>, _ coding: String) -> Int {
        // Browsers fetch the manifest and its pictures when nothing waits for them any more, and the page the words of
        // dialogs with the first one.
        let early = names.filter {
            !$0.hasSuffix(".png") && !$0.hasSuffix(".svg") && !$0.hasSuffix(".webmanifest") && !$0.hasPrefix("dialogs.")
        }
        let sizes = early.compactMap { files[$0] }.map { file in
            (name: file.name, bytes: coding == "br" ? file.brotli.count : file.gzip.count)
        }
        let fetched = sizes.filter { !$0.name.hasPrefix("words.") }.map(\.bytes)
        let words = sizes.filter { $0.name.hasPrefix("words.") }.map(\.bytes).max() ?? 0
        return fetched.reduce(words, +) + (fetched.count + 1) * Self.heads
    }

    /// Without what its script imports when it runs.
    private var html: String {
        String(decoding: files["index.html"]?.content ?? [], as: UTF8.self).replacing(/import\("[^"]+"\)/, with: "")
    }
    /// What the lobby needs: what the page itself mentions, and the words.
    private var lobby: Set<String> {
        Set(files.keys.filter { html.contains("\"/assets/\($0)\"") || $0.hasPrefix("words.") || $0 == "index.html" })
    }

    @Test(arguments: ["br", "gzip"])
    func `a first call takes 60 kB, and the lobby 30 of it`(coding: String) {
        // Only a page in a frame of another one fetches what it says to that.
        let call = mentioned(by: ["index.html"]).filter { !$0.hasPrefix("frame.") }
        let (first, whole) = (bytes(lobby, coding), bytes(call, coding) + Self.answers)
        print("the page in \(coding): the lobby \(first) bytes in \(lobby.count - 1) files, a first call \(whole)")
        #expect(lobby.count >= 6 && call.isSuperset(of: lobby), "\(call)")
        #expect(call.contains { $0.hasPrefix("main.") } && !lobby.contains { $0.hasPrefix("main.") })
        #expect(first <= 30_000)
        #expect(whole <= 60_000)
    }

    @Test func `dialogs come when they are opened, each in less than 10 kB`() {
        let call = mentioned(by: ["index.html"])
        let later = [
            "recordings-dialog.", "layout-menu.", "host-menus.", "invite-dialog.", "file-sending.", "avatar-picture.",
            "breakout.", "told.", "voice.", "moving.",
        ].map { prefix in
            files.values.filter { $0.name.hasPrefix(prefix) }
        }
        for found in later {
            #expect(found.count == 1 && !call.contains(found[0].name) && found[0].gzip.count <= 10_000)
        }
    }

    @Test func `every file but the pages and the module for other sites is kept for good`() {
        #expect(
            files.values.filter { !$0.isHashed }.map(\.name).sorted() == [
                "index.html", "library.html", "tessera.d.ts", "tessera.js", "tessera.json", "watch.html",
            ])
    }

    @Test func `every file that a file mentions is there`() throws {
        for file in files.values {
            let text = String(decoding: file.content, as: UTF8.self)
            for match in text.matches(of: /"\/assets\/([^"]+)"/) {
                #expect(files[String(match.1)] != nil, "\(file.name) mentions \(match.1)")
            }
        }
    }

    @Test func `the module for other sites needs no other file`() throws {
        let text = String(decoding: try #require(files["tessera.js"]).content, as: UTF8.self)
        #expect(!text.contains("/assets/"))
        #expect(text.matches(of: /\b(import|from)\s*["(]/).isEmpty)
    }

    @Test func `the page can be installed as an app`() throws {
        let name = try #require(files.keys.first { $0.hasSuffix(".webmanifest") })
        #expect(html.contains("rel=\"manifest\" href=\"/assets/\(name)\""))
        #expect(WebAssets.type(of: name) == "application/manifest+json" && WebAssets.type(of: "a.png") == "image/png")
        struct Manifest: Decodable {
            struct Icon: Decodable { var src, type, sizes: String }
            enum CodingKeys: String, CodingKey { case name, start = "start_url", display, icons }
            var name, start, display: String
            var icons: [Icon]
        }
        let manifest = try JSONDecoder().decode(Manifest.self, from: Data(try #require(files[name]).content))
        #expect((manifest.name, manifest.start, manifest.display) == ("Tessera", "/", "standalone"))
        for side in [192, 512] {
            let icon = try #require(manifest.icons.first { $0.sizes == "\(side)x\(side)" })
            let picture = try #require(files[String(icon.src.dropFirst("/assets/".count))]).content
            // The sides of a PNG: 32 bits each from byte 16 on.
            #expect([18, 22].map { Int(picture[$0]) << 8 | Int(picture[$0 + 1]) } == [side, side])
            #expect(picture.count < 8000 && icon.type == "image/png")
        }
    }

    @Test func `the module has a name with its digest too, which a file tells with an integrity value`() throws {
        struct Manifest: Decodable { var module, integrity, types: String }
        let manifest = try JSONDecoder().decode(
            Manifest.self, from: Data(try #require(files["tessera.json"]).content))
        let module = try #require(files["tessera.js"])
        let hashed = try #require(files[String(manifest.module.trimmingPrefix("/assets/"))])
        #expect(hashed.isHashed && hashed.name != module.name && hashed.content == module.content)
        #expect(manifest.integrity.hasPrefix("sha384-") && manifest.integrity.count == 7 + 64)
        #expect(files[String(manifest.types.trimmingPrefix("/assets/"))]?.name == "tessera.d.ts")
    }

    @Test func `the sizes are those of compressed content`() {
        for file in files.values where file.content.count > 1000 && !file.name.hasSuffix(".png") {
            #expect(file.brotli.count < file.gzip.count && file.gzip.count < file.content.count, "\(file.name)")
            #expect(file.gzip.prefix(3) == [0x1f, 0x8b, 8], "RFC 1952 §2.3.1")
        }
    }
}
