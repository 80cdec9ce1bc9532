/// The settings as others may see them, in a report of a fault. What is not known to be harmless is left out: secrets,
/// texts of keys that are not listed here, whole mappings such as those of `webhooks`, and keys that do not exist.
package enum RedactedSettings {
    /// What stands in place of a value.
    package static let removed = "(removed)"

    /// The keys whose texts are no secrets: addresses to listen on, names, paths, choices.
    private static let shown: Set<String> = [
        "http.listen", "http.tls.certificate", "http.tls.key", "http.allowedOrigins", "http.frameAncestors",
        "http.hosts", "http.trustedProxies", "media.listen", "media.announce", "rooms.layout", "rooms.onPresent",
        "rooms.admit", "rooms.create", "rooms.passthrough", "video.codecs", "audio.level", "recording.directory",
        "recording.start", "recording.container", "recording.audio", "streams.schemes", "streams.hosts",
        "streams.authorities", "inputs.schemes", "inputs.hosts", "inputs.directory", "auth.mode", "auth.issuer",
        "auth.audience", "layouts.directory", "doors.webrtcDemoRoom", "doors.rawTCP", "doors.rawTCPRoom",
        "doors.directory", "events.directory", "cluster.user", "cluster.tls.authority", "cluster.tls.certificate",
        "cluster.tls.key", "cluster.node", "cluster.zone", "cluster.listen", "cluster.advertise", "cluster.drain.mode",
    ]
    /// Those whose texts are URLs: of these only scheme, host and port are shown.
    private static let urls: Set<String> = [
        "http.publicURL", "ice.stun", "ice.turn.urls", "tracing.otlp", "cluster.etcd",
    ]

    /// One line for each setting that is given, `key: value`, in the order of the file, then of the environment.
    package static func lines(file: ConfigurationLoader.File?, environment: [String: String]) -> [String] {
        var lines: [String] = []
        if let file {
            do {
                if let root = try YAMLNode.parse(file.text), case .mapping(let members) = root.content {
                    add(members, under: "", to: &lines)
                }
            } catch {
                // The fault may quote the text.
                lines.append("# \(file.name) is no YAML at line \(error.line)")
            }
        }
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("TESSERA_") {
            let key = ConfigurationSchema.byEnvironmentName[name]
            lines.append("\(name): " + (key.map { value(text, of: $0) } ?? removed))
        }
        return lines
    }

    private static func add(
        _ members: [(key: YAMLNode, value: YAMLNode)], under prefix: String, to lines: inout [String]
    ) {
        for (keyNode, node) in members {
            let name = keyNode.text ?? "?"
            let path = prefix.isEmpty ? name : "\(prefix).\(name)"
            if let key = ConfigurationSchema.byPath[path] {
                lines.append("\(path): " + value(node, of: key))
            } else if ConfigurationSchema.isSection(path), case .mapping(let inner) = node.content {
                add(inner, under: path, to: &lines)
            } else {
                // Its name may be a secret that slipped a line: no name in the schema, none here.
                lines.append((prefix.isEmpty ? "" : prefix + ".") + "(unknown key): \(removed)")
            }
        }
    }

    private static func value(_ node: YAMLNode, of key: ConfigurationKey) -> String {
        switch node.content {
        case .scalar(let text, _): value(text, of: key)
        case .sequence(let items):
            key.isSecret
                ? "\(removed), \(items.count) entries"
                : "[" + items.map { value($0, of: key) }.joined(separator: ", ") + "]"
        case .mapping(let members): "\(removed), \(members.count) entries"
        }
    }

    static func value(_ text: String, of key: ConfigurationKey) -> String {
        if key.isSecret { return text.isEmpty ? "\"\"" : removed }
        if text.isEmpty { return "\"\"" }
        if shown.contains(key.path) || isFigure(text) { return text }
        return urls.contains(key.path) ? origin(text) : removed
    }

    /// `true`, `off`, `24h`, `1.5`, `20GiB`.
    private static func isFigure(_ text: String) -> Bool {
        if ["true", "false", "on", "off", "none", "~", "null"].contains(text) { return true }
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." || $0 == "_" }
        let unit = text.dropFirst(digits.count)
        return !digits.isEmpty && unit.count <= 6 && unit.allSatisfy { $0.isASCII && $0.isLetter || $0 == "/" }
    }

    /// Scheme, host and port of each URL in a text.
    private static func origin(_ text: String) -> String {
        text.split(separator: ",").map { url in
            let url = url.drop { $0 == " " }
            // turn:host:port has no slashes.
            guard let colon = url.firstIndex(of: ":") else { return removed }
            let rest = url[url.index(after: colon)...]
            let scheme = url[...colon] + (rest.hasPrefix("//") ? "//" : "")
            let authority = rest.drop { $0 == "/" }.prefix { !"/?#".contains($0) }
            let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
            let isWhole = authority.endIndex == url.endIndex && host.count == authority.count
            return scheme + host + (isWhole ? "" : "/…")
        }.joined(separator: ", ")
    }
}
