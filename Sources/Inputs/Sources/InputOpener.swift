import Basics
import CSandbox
package import Codecs
import Glibc
import Streaming
import Threads

/// Opens inputs, as the policy allows. The server itself looks at addresses, connects, fetches and opens files; what it
/// gets is read by a process without rights.
package struct InputOpener: Sendable {
    /// The demuxers that may run. Others read other files by themselves, or are playlists of another kind.
    static let formats =
        "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,mpegts,mpeg,flv,live_flv,ogg,wav,mp3,aac,flac,avi"
    private static let playlists = "hls,webvtt"

    private static let rtspPort: UInt16 = 554
    private static let rtmpPort: UInt16 = 1935

    private static let openingLimit = Duration.seconds(15)
    /// How long a source that sends at its own pace may be silent.
    private static let liveSilence = Duration.seconds(5)
    /// … and one that is fetched: a playlist's next part may take its target duration.
    private static let fetchedSilence = Duration.seconds(30)

    package let policy: InputPolicy
    private let maxPixels: Int
    /// The program that has the command `source-worker`: this one, as it is in memory, also where an update has replaced
    /// its file.
    package static let ownProgram = "/proc/self/exe"
    private let program: String

    package init(policy: InputPolicy, maxPixels: Int, program: String = InputOpener.ownProgram) {
        self.policy = policy
        self.maxPixels = maxPixels
        self.program = program
    }

    /// How long a read may take.
    static func silence(_ address: InputAddress) -> Duration { address.isLive ? liveSilence : fetchedSilence }

    /// Opens the input, which may block up to 15 s, and for a listener until somebody connects.
    package func open(_ address: InputAddress, _ interrupt: ReadInterrupt) throws -> RemoteDemuxer {
        try policy.check(address)
        Self.limit(interrupt)
        switch address {
        case .file(let path):
            let file = try FileSource(path, below: policy.directory)
            let name = path.split(separator: "/").last.map(String.init) ?? ""
            return try withExtendedLifetime(file) {
                try demuxer(
                    SourceOpening(
                        origin: .file(name: name, length: file.length ?? 0), formats: Self.formats,
                        maxPixels: maxPixels), [file.descriptor], interrupt)
            }
        case .url(let url):
            switch url.scheme {
            case "srt": return try srt(url, interrupt)
            case "rtmp": return try rtmp(url, interrupt)
            case "rtsp": return try rtsp(url, interrupt)
            default: return try http(url, interrupt)
            }
        }
    }

    private func http(_ url: MediaURL, _ interrupt: ReadInterrupt) throws -> RemoteDemuxer {
        let source = try HTTPSource(url, policy: policy, interrupt: interrupt)
        let name = HTTPSource.place(source.url) + (source.url.query.map { "?" + $0 } ?? "")
        let feed = SourceFeed(main: source) { [policy] name, range in
            guard let url = MediaURL(name) else {
                throw StreamingError.refused("The playlist names what is no URL with a host.")
            }
            try HTTPSource.checkScheme(url)
            return try HTTPSource(url, range: range, policy: policy, interrupt: interrupt)
        }
        return try demuxer(
            SourceOpening(
                origin: .bytes(name: name, length: source.length, isSeekable: source.isSeekable),
                formats: Self.formats + "," + Self.playlists, maxPixels: maxPixels), [], interrupt, feed)
    }

    private func srt(_ url: MediaURL, _ interrupt: ReadInterrupt) throws -> RemoteDemuxer {
        let settings = try SRTSettings(url)
        var address = IPAddress(url.host) ?? .v4(0)
        let port = Int(url.port ?? 0)
        let socket: Int32
        // libsrt has threads for each connection.
        var rights = Int32(SANDBOX_THREADS)
        if settings.isListener {
            interrupt.setDeadline(.distantFuture)
            rights |= Int32(SANDBOX_ANY_PEER)
            socket = try SourceConnection.listener(url.host, port: port)
        } else {
            address = try policy.address(of: url)
            socket = try SourceConnection.udp(address, port: port)
        }
        let target = "srt://\(SocketAddress(address, port: url.port ?? 0))"
        return try connected(
            .url(target, options: settings.options, protocols: "srt"), Self.formats, [socket], interrupt,
            rights: rights)
    }

    private func rtsp(_ url: MediaURL, _ interrupt: ReadInterrupt) throws -> RemoteDemuxer {
        let address = try policy.address(of: url)
        let socket = try SourceConnection.tcp(address, port: Int(url.port ?? Self.rtspPort), interrupt)
        return try connected(.rtsp(url.text(at: address)), "rtsp", [socket], interrupt)
    }

    private func rtmp(_ url: MediaURL, _ interrupt: ReadInterrupt) throws -> RemoteDemuxer {
        let address = try policy.address(of: url)
        var sockets: [Int32] = []
        do {
            // A server that asks for a user's name closes two connections before it takes the third.
            for _ in 0..<(url.userInfo == nil ? 1 : 3) {
                sockets.append(try SourceConnection.tcp(address, port: Int(url.port ?? Self.rtmpPort), interrupt))
            }
        } catch {
            for socket in sockets { close(socket) }
            throw error
        }
        // Servers choose among their sites by the name in it.
        let connect = "rtmp://" + url.authority + Self.application(url.path)
        return try connected(
            .url(
                url.text(at: address), options: ["rtmp_tcurl": connect, "rtmp_live": "live"],
                protocols: "rtmp,tcp"), "flv,live_flv", sockets, interrupt)
    }

    /// Opens what comes over sockets, which it takes over.
    private func connected(
        _ origin: SourceOpening.Origin, _ formats: String, _ sockets: [Int32], _ interrupt: ReadInterrupt,
        rights: Int32 = 0
    ) throws -> RemoteDemuxer {
        defer { for socket in sockets { close(socket) } }
        return try demuxer(
            SourceOpening(origin: origin, formats: formats, maxPixels: maxPixels, rights: rights), sockets, interrupt)
    }

    private func demuxer(
        _ opening: SourceOpening, _ descriptors: [Int32], _ interrupt: ReadInterrupt,
        _ feed: SourceFeed = SourceFeed(main: nil, nested: nil)
    ) throws -> RemoteDemuxer {
        let process = try SourceProcess.start(program, opening, descriptors) {
            if interrupt.mustStop { throw interrupt.isCancelled ? DemuxError.cancelled : DemuxError.timedOut }
        }
        // A listener has no limit until somebody has connected.
        return try RemoteDemuxer(process, interrupt: interrupt, feed: feed) { Self.limit(interrupt) }
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
