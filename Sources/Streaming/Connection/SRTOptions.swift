/// The options of a connection by SRT, from the query of its URL.
struct SRTOptions {
    /// By their names in libavformat.
    private(set) var values: [String: String] = [:]

    private static let known = ["latency", "mode", "passphrase", "pbkeylen", "streamid"]

    /// - Throws: `refused` for what cannot be permitted: an option could name a file or turn the connection around.
    init(_ url: MediaURL) throws(StreamingError) {
        for (name, value) in url.parameters {
            switch name {
            case "passphrase":
                guard (10...79).contains(value.utf8.count) else { throw .refused("passphrase: 10 to 79 bytes") }
            case "streamid":
                guard (1...512).contains(value.utf8.count) else { throw .refused("streamid: 1 to 512 bytes") }
            case "latency":
                guard let time = Int(value), (0...60_000_000).contains(time) else {
                    throw .refused("latency: 0 to 60000000 microseconds")
                }
            case "pbkeylen":
                guard ["16", "24", "32"].contains(value) else { throw .refused("pbkeylen: 16, 24 or 32") }
            case "mode":
                guard value == "caller" else {
                    throw .refused("mode: caller only; the other side listens (mode=listener there)")
                }
            default:
                throw .refused("The query of an srt:// URL has \(Self.known.joined(separator: ", ")) and nothing else.")
            }
            values[name] = value
        }
    }
}
