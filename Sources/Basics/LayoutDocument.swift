/// What holds for the JSON of a layout wherever it comes from: from a file, the API or the store of a cluster.
public enum LayoutDocument {
    /// The most bytes of a layout. Most have a few KiB: a larger one is a mistake or an attack.
    public static let maxBytes = 256 << 10

    /// Says which names `isName` accepts.
    public static let nameRule = "1 to 64 of a-z, 0-9, - and _"

    /// Whether a layout can have this name: 1 to 64 of a-z, 0-9, `-` and `_`, so that the name can be part of a file
    /// name, of a URL and of a key without escaping.
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }
}
