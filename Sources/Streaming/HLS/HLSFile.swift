/// The name of one of a stream's files.
package enum HLSFile: Hashable, Sendable {
    case playlist
    case header(Int)
    case segment(Int)
    case part(Int)

    /// Reads `ID.m3u8`, `ID-hN.mp4`, `ID-sN.m4s` and `ID-pN.m4s`; nil for other texts.
    package static func parse(_ name: String) -> (stream: String, file: HLSFile)? {
        guard name.utf8.count <= 64, let dot = name.firstIndex(of: ".") else { return nil }
        let (stem, end) = (name[..<dot], name[name.index(after: dot)...])
        if end == "m3u8" { return (String(stem), .playlist) }
        let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = wholeNumber(parts[1].dropFirst()) else { return nil }
        let file: HLSFile
        switch (parts[1].first, end) {
        case ("h", "mp4"): file = .header(number)
        case ("s", "m4s"): file = .segment(number)
        case ("p", "m4s"): file = .part(number)
        default: return nil
        }
        return (String(parts[0]), file)
    }

    /// A decimal number of at most nine digits.
    package static func wholeNumber(_ text: some StringProtocol) -> Int? {
        guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }

    func name(in stream: String) -> String {
        switch self {
        case .playlist: "\(stream).m3u8"
        case .header(let number): "\(stream)-h\(number).mp4"
        case .segment(let number): "\(stream)-s\(number).m4s"
        case .part(let number): "\(stream)-p\(number).m4s"
        }
    }
}
