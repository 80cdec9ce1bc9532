import Basics
package import Codecs
import Streaming
import Threads

/// Opens inputs, as the policy allows.
package struct InputOpener: Sendable {
    /// The demuxers that may run. Others read other files by themselves, or are playlists of another kind.
    private static let formats =
        "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,mpegts,mpeg,flv,live_flv,ogg,wav,mp3,aac,flac,avi"
    private static let playlists = "hls,webvtt"

    private static let openingLimit = Duration.seconds(15)
    /// How long a source that sends at its own pace may be silent.
    private static let liveSilence = Duration.seconds(5)
    /// … and one that is fetched: a playlist's next part may take its target duration.
    private static let fetchedSilence = Duration.seconds(30)

    package let policy: InputPolicy
    private let maxPixels: Int

    package init(policy: InputPolicy, maxPixels: Int) {
        self.policy = policy
        self.maxPixels = maxPixels
    }

    /// How long a read may take.
    static func silence(_ address: InputAddress) -> Duration { address.isLive ? liveSilence : fetchedSilence }

    /// Opens the input, which may block up to 15 s, and for a listener until somebody connects.
    package func open(_ address: InputAddress, _ interrupt: ReadInterrupt) throws -> MediaDemuxer {
        try policy.check(address)
        Self.limit(interrupt)
        switch address {
        case .file(let path):
            let source = try FileSource(path, below: policy.directory)
            let name = path.split(separator: "/").last.map(String.init) ?? ""
            return try demuxer(.bytes(source, name: name), Self.formats, interrupt)
        case .url(let url):
            switch url.scheme {
            case "srt": return try srt(url, interrupt)
            case "rtmp": return try rtmp(url, interrupt)
            case "rtsp":
                let target = url.text(at: try policy.address(of: url))
                return try demuxer(.rtsp(target), "rtsp", interrupt)
            default: return try http(url, interrupt)
            }
        }
    }

    private func http(_ url: MediaURL, _ interrupt: ReadInterrupt) throws -> MediaDemuxer {
        let source = try HTTPSource(url, policy: policy, interrupt: interrupt)
        let name = HTTPSource.place(source.url) + (source.url.query.map { "?" + $0 } ?? "")
        return try demuxer(.bytes(source, name: name), Self.formats + "," + Self.playlists, interrupt) {
            [policy] name, range in
            guard let url = MediaURL(name) else {
                throw StreamingError.refused("The playlist names what is no URL with a host.")
            }
            try HTTPSource.checkScheme(url)
            return try HTTPSource(url, range: range, policy: policy, interrupt: interrupt)
        }
    }

    private func srt(_ url: MediaURL, _ interrupt: ReadInterrupt) throws -> MediaDemuxer {
        let settings = try SRTSettings(url)
        var address = IPAddress(url.host) ?? .v4(0)
        if settings.isListener {
            interrupt.setDeadline(.distantFuture)
        } else {
            address = try policy.address(of: url)
        }
        let target = "srt://\(SocketAddress(address, port: url.port ?? 0))"
        return try demuxer(.url(target, options: settings.options, protocols: "srt"), Self.formats, interrupt)
    }

    private func rtmp(_ url: MediaURL, _ interrupt: ReadInterrupt) throws -> MediaDemuxer {
        let target = url.text(at: try policy.address(of: url))
        // Servers choose among their sites by the name in it.
        let connect = "rtmp://" + url.authority + Self.application(url.path)
        return try demuxer(
            .url(target, options: ["rtmp_tcurl": connect, "rtmp_live": "live"], protocols: "rtmp,tcp"),
            "flv,live_flv", interrupt)
    }

    private func demuxer(
        _ origin: MediaDemuxer.Origin, _ formats: String, _ interrupt: ReadInterrupt,
        _ nested: MediaDemuxer.Nested? = nil
    ) throws -> MediaDemuxer {
        // A listener has no limit until somebody has connected.
        try MediaDemuxer(
            origin, formats: formats, maxPixels: maxPixels, interrupt: interrupt,
            connected: { Self.limit(interrupt) }, nested: nested)
    }

    private static func limit(_ interrupt: ReadInterrupt) {
        interrupt.setDeadline(MonotonicClock.now() + openingLimit)
    }

    /// The application in an RTMP path, as the library takes it: the first part, or two where there are three.
    static func application(_ path: String) -> String {
        let parts = path.split(separator: "/")
        return parts.isEmpty ? "" : "/" + parts.prefix(parts.count > 2 ? 2 : 1).joined(separator: "/")
    }
}
