import Streaming

/// The parameters of an SRT URL. Others are refused: the library's own reach further than a source should.
struct SRTSettings {
    /// SRT's own limits (SRTO_PASSPHRASE, SRTO_STREAMID).
    private static let passphraseLength = 10...79
    private static let streamIDLength = 1...512
    /// In microseconds, as the library has it.
    private static let latencies = 0...60_000_000

    private(set) var isListener = false
    /// For the library's protocol.
    private(set) var options = ["mode": "caller", "transtype": "live"]

    init(_ url: MediaURL) throws(StreamingError) {
        for (name, value) in url.parameters {
            switch name {
            case "mode" where value == "caller" || value == "listener":
                isListener = value == "listener"
                options["mode"] = value
            case "passphrase" where Self.passphraseLength.contains(value.utf8.count): options["passphrase"] = value
            case "streamid" where Self.streamIDLength.contains(value.utf8.count): options["srt_streamid"] = value
            case "latency" where Int(value).map(Self.latencies.contains) ?? false: options["latency"] = value
            case "pbkeylen" where ["16", "24", "32"].contains(value): options["pbkeylen"] = value
            default:
                throw .refused(
                    "url: the query of an srt:// URL has mode=caller or listener, passphrase (10 to 79 bytes), pbkeylen (16, 24, 32), streamid (1 to 512 bytes) and latency (0 to 60000000 microseconds), and nothing else."
                )
            }
        }
        guard let port = url.port else { throw .refused("url: an srt:// URL names the port: srt://HOST:PORT.") }
        guard isListener else { return }
        guard ["0.0.0.0", "::"].contains(url.host), port >= 1024 else {
            throw .refused(
                "url: a listener is on every address and on a port from 1024 on: srt://0.0.0.0:9000?mode=listener&passphrase=…"
            )
        }
        guard options["passphrase"] != nil else {
            throw .refused("url: a listener needs a passphrase (10 to 79 bytes): otherwise everybody could send.")
        }
    }
}
