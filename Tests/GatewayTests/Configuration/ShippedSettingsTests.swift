import Foundation
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

/// The file of settings in the Debian package.
@Suite struct ShippedSettingsTests {
    private let file: String

    init() throws {
        let root = URL(filePath: #filePath).pathComponents.dropLast(4).joined(separator: "/").dropFirst()
        file = try String(contentsOfFile: root + "/scripts/deploy/debian/tessera.yaml", encoding: .utf8)
    }

    /// The text without the `#` before settings; sentences keep theirs.
    private var uncommented: String {
        file.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("# ") && !line.hasPrefix("#  ") ? line : line.trimmingPrefix("#")
        }.joined(separator: "\n")
    }

    @Test func `the file changes no setting`() throws {
        #expect(try ConfigurationLoader.load(file: .init(name: "tessera.yaml", text: file)) == TesseraConfiguration())
    }

    @Test func `what it shows are the defaults`() throws {
        let loaded = try ConfigurationLoader.load(file: .init(name: "tessera.yaml", text: uncommented))
        #expect(loaded == TesseraConfiguration())
    }

    @Test func `it shows every key`() {
        // Each line's key, below the keys of the lines that are indented less.
        var sections: [(indent: Int, name: String)] = []
        var shown: Set<String> = []
        for line in uncommented.split(separator: "\n") where !line.hasPrefix("#") {
            let indent = line.prefix { $0 == " " }.count
            let name = String(line.dropFirst(indent).prefix { $0 != ":" })
            sections.removeAll { $0.indent >= indent }
            sections.append((indent, name))
            shown.insert(sections.map(\.name).joined(separator: "."))
        }
        let missing = ConfigurationSchema.keys.map(\.path).filter { !shown.contains($0) }
        #expect(missing.isEmpty, "scripts/deploy/debian/tessera.yaml lacks \(missing)")
    }
}
