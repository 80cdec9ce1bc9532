import Basics

extension MediaURL {
    /// The query's members, with percent signs decoded.
    package var parameters: [(name: String, value: String)] {
        (query ?? "").split(separator: "&").map { member in
            let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
        }
    }

    /// The parameters that say how a connection is made and nothing about who makes it.
    private static let harmless: Set<String> = ["latency", "mode", "pbkeylen", "transport"]

    /// RTMP's path ends with the stream key.
    private var hasKeyInPath: Bool { scheme.hasPrefix("rtmp") }

    /// The URL without credentials, for people: `rtmp://live.example/app/…`.
    package var redacted: String {
        var text = scheme + "://" + (userInfo == nil ? "" : "…@") + authority
        if hasKeyInPath, let slash = path.lastIndex(of: "/") {
            text += path[...slash] + (path.last == "/" ? "" : "…")
        } else {
            text += path
        }
        guard query != nil else { return text }
        let members = parameters.map { "\($0.name)=\(Self.harmless.contains($0.name) ? $0.value : "…")" }
        // The names are of the user's URL, too: who wrote the key where a name belongs must not see it told.
        let areNames = parameters.allSatisfy { !$0.value.isEmpty && $0.name.utf8.count <= 32 && $0.name.isWord }
        return text + "?" + (areNames && !hasKeyInPath ? members.joined(separator: "&") : "…")
    }

    /// What a text from elsewhere must not repeat.
    private var secrets: [String] {
        var found: [String] = []
        if let userInfo {
            found.append(userInfo)
            found += userInfo.split(separator: ":", maxSplits: 1).map { Self.decoded($0) }
        }
        if hasKeyInPath {
            for place in [path, query ?? ""] {
                if let key = place.split(separator: "/").last { found += [String(key), Self.decoded(key)] }
            }
        }
        if let query, !query.isEmpty { found.append(query) }
        for (name, value) in parameters where !Self.harmless.contains(name) {
            // A name may be the secret, as where there is no `=`.
            found += value.isEmpty || !name.isWord || name.utf8.count > 8 ? [name, value] : [value]
        }
        return Set(found.filter { !$0.isEmpty }).sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    }

    /// A text of a library or of the other server, shortened to one line, without what is secret in the URL.
    package func redacting(_ text: String) -> String {
        var line = String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.isPlain ? $0 : " " }))
        for secret in secrets where line.contains(secret) {
            // A key of two letters would leave holes in other words, which tell it.
            if secret.utf8.count < 4 { return "the server refuses" }
            line = line.replacing(secret, with: "…")
        }
        return line.count > 200 ? line.prefix(199) + "…" : line
    }

    /// `%41` becomes `A`; what is no such sequence stays as it is.
    static func decoded(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == 37, let high = rest.first.flatMap(Hexadecimal.value),
                let low = rest.dropFirst().first.flatMap(Hexadecimal.value)
            {
                bytes.append(high << 4 | low)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    fileprivate var isWord: Bool {
        utf8.allSatisfy { (97...122).contains($0 | 32) || (48...57).contains($0) || $0 == 95 }
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isPlain: Bool {
        switch generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
