/// The media type of a header without parameters: `application/sdp; charset=utf-8` gives `application/sdp`.
package func mediaType(_ header: String?) -> String? {
    header.map { $0.prefix { $0 != ";" }.filter { $0 != " " }.lowercased() }
}

/// Whether `Accept` headers allow a type (RFC 9110 §12.5.1); without one every type is allowed.
package func accepts(_ type: String, _ lines: [String]) -> Bool {
    let ranges = lines.flatMap { $0.split(separator: ",") }
    if ranges.isEmpty { return true }
    let family = type.prefix { $0 != "/" } + "/*"
    return ranges.contains { range in
        let isRefused = range.split(separator: ";").dropFirst().contains { parameter in
            let text = parameter.filter { $0 != " " }
            return text == "q=0" || text == "q=0.0"
        }
        guard !isRefused, let name = mediaType(String(range)) else { return false }
        return name == type || name == "*/*" || name == family
    }
}
