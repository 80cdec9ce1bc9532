import Basics
import CFFmpeg

/// A connection to a server that takes a stream: RTMP, RTMPS or SRT, by libavformat. Its calls block. Not Sendable: one
/// thread owns it.
final class OutputConnection {
    let io: UnsafeMutablePointer<AVIOContext>
    private let interrupt: MediaInterrupt

    /// Bytes that the kernel keeps for a server that does not read, which it doubles: with several megabytes, its own
    /// choice, the picture of a slow server would be half a minute old.
    private static let sendBuffer = 256 << 10

    /// Connects; for RTMP until the server lets the stream be published.
    ///
    /// - Parameter address: the permitted one. RTMP and SRT go there whatever the name means by now; RTMPS looks the name
    ///   up again, since the library asks for the name's certificate only then, and sends nothing before it has seen it.
    init(_ target: StreamTarget, at address: IPAddress, _ interrupt: MediaInterrupt) throws(StreamingError) {
        self.interrupt = interrupt
        let url = target.url
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        func set(_ name: String, _ value: String) { av_dict_set(&options, name, value, 0) }
        var text = url.text(at: address)
        switch url.scheme {
        case "srt":
            set("protocol_whitelist", "srt")
            for (name, value) in try SRTOptions(url).values { set(name, value) }
            set("mode", "caller")
            text = "srt://\(SocketAddress(address, port: url.port ?? 0))"
        case "rtmps":
            set("protocol_whitelist", "rtmps,tls,tcp")
            set("send_buffer_size", String(Self.sendBuffer))
            // libavformat verifies nothing by default.
            set("tls_verify", "1")
            if !target.authorities.isEmpty { set("ca_file", target.authorities) }
            text = url.text
        default:
            set("protocol_whitelist", "rtmp,tcp")
            set("send_buffer_size", String(Self.sendBuffer))
            // Servers choose among their sites by the name in it.
            set("rtmp_tcurl", Self.connectURL(url))
        }
        var callback = interrupt.callback
        var io: UnsafeMutablePointer<AVIOContext>?
        try LibraryFailure.check(url) { avio_open2(&io, text, AVIO_FLAG_WRITE, &callback, &options) }
        guard let io else { throw .failed("The connection could not be made.") }
        self.io = io
    }

    deinit {
        var io: UnsafeMutablePointer<AVIOContext>? = io
        avio_closep(&io)
        withExtendedLifetime(interrupt) {}
    }

    /// The URL of an RTMP application as libavformat takes it from a stream's: the first one or two parts of the path.
    static func connectURL(_ url: MediaURL) -> String {
        let path = url.path.dropFirst() + (url.query.map { "?" + $0 } ?? "")
        let parts = path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        let app: String =
            switch parts.count {
            case 0, 1: ""
            case 3 where !parts[1].contains(":"): "\(parts[0])/\(parts[1])"
            default: String(parts[0])
            }
        return "\(url.scheme)://\(url.authority)/\(app)"
    }
}
