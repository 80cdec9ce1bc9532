import FoundationEssentials

/// A file of the web client, bundled and compressed: `scripts/bundle_page.py` writes them as Swift, `WebFile.all`, in
/// each build after a change of a source.
package struct WebFile: Sendable {
    package var name: String
    /// Whether the name has a digest of the content: what has this name never changes.
    package var isHashed: Bool
    /// Of the content, in hexadecimal digits.
    package var digest: String
    /// The SHA-256 in Base64 of each script within a page, for its Content-Security-Policy.
    package var scriptDigests: [String]
    package var content: [UInt8]
    /// The content in the coding `br`, or empty.
    package var brotli: [UInt8]
    /// The content in the coding `gzip`, or empty.
    package var gzip: [UInt8]

    /// - Parameters:
    ///   - brotli: in Base64, as `gzip`. SwiftPM's `.embedInCode` writes array literals, which cost the compiler a
    ///     minute for 150 KB; a string of that length costs it nothing.
    package init(
        name: String, isHashed: Bool, digest: String, scriptDigests: [String] = [], text: String, brotli: String = "",
        gzip: String = ""
    ) {
        self.name = name
        self.isHashed = isHashed
        self.digest = digest
        self.scriptDigests = scriptDigests
        content = Array(text.utf8)
        self.brotli = Data(base64Encoded: brotli).map { Array($0) } ?? []
        self.gzip = Data(base64Encoded: gzip).map { Array($0) } ?? []
    }

    /// A picture, which is compressed already.
    package init(name: String, isHashed: Bool, digest: String, base64: String) {
        self.init(name: name, isHashed: isHashed, digest: digest, text: "")
        content = Data(base64Encoded: base64).map { Array($0) } ?? []
    }
}
