/// A coding of content (RFC 9110 §8.4.1) that the built-in files have.
package enum ContentCoding: String, Sendable {
    case brotli = "br"
    case gzip
    /// As it is.
    case identity

    /// The most elements of an `Accept-Encoding` that are read. Browsers send four.
    private static let maxElements = 16

    /// The coding of an answer (RFC 9110 §12.5.3): the one with the highest weight, and of those with the same weight
    /// the first of `available`. `identity` where the client accepts none.
    ///
    /// - Parameter accepted: `Accept-Encoding`. Without the header every coding is acceptable, but programs that do not
    ///   send it often decode none.
    package static func choose(_ accepted: String?, of available: [ContentCoding]) -> ContentCoding {
        guard let accepted else { return .identity }
        var weights: [String: Double] = [:]
        for element in accepted.split(separator: ",").prefix(maxElements) {
            let parts = element.split(separator: ";").map { $0.trimmed.lowercased() }
            guard let name = parts.first, !name.isEmpty else { continue }
            weights[name == "x-gzip" ? "gzip" : name] = weight(parts.dropFirst())
        }
        var best = (coding: ContentCoding.identity, weight: 0.0)
        for coding in available {
            // What is sent as it is is acceptable unless it is excluded, and the last choice unless it is listed.
            let unlisted = weights["*"] ?? (coding == .identity ? .leastNonzeroMagnitude : 0)
            let weight = weights[coding.rawValue] ?? unlisted
            if weight > best.weight { best = (coding, weight) }
        }
        return best.coding
    }

    /// The weight among an element's parameters: 1 without one, 0 where it is no number from 0 to 1.
    private static func weight(_ parameters: ArraySlice<String>) -> Double {
        guard let text = parameters.first(where: { $0.hasPrefix("q=") }) else { return 1 }
        guard let weight = Double(text.dropFirst(2)), (0...1).contains(weight) else { return 0 }
        return weight
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let start = drop(while: isSpace)
        return start.lastIndex(where: { !isSpace($0) }).map { start[...$0] } ?? ""
    }
}
