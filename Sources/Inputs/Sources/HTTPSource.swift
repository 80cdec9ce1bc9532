import AsyncHTTPClient
import Basics
import Codecs
import Dispatch
import FoundationEssentials
import NIOCore
import NIOHTTP1
import Streaming

/// What an HTTP server sends: with ranges, where the server knows them, and redirections that are checked one by one.
///
/// The library's own client would follow a redirection anywhere, and look the name up once more than we do. This one
/// connects to the address that was checked; the certificate is that of the name all the same.
///
/// A server that knows no ranges sends everything from the start each time: what comes before the part that is wanted is
/// read and thrown away, up to a limit. An MP4 whose index is at its end needs that twice.
final class HTTPSource: ByteSource {
    private static let mostRedirections = 5
    /// A playlist is read into memory as a whole.
    private static let longestPlaylist = 4 << 20
    /// The most bytes that are thrown away at once: longer files need a server that knows ranges.
    static let longestSkip: Int64 = 64 << 20

    let isSeekable: Bool
    let length: Int64?
    /// Where the last redirection led, which relative URLs are relative to.
    private(set) var url: MediaURL

    private let policy: InputPolicy
    private let interrupt: ReadInterrupt
    /// The part that was asked for; nil: everything.
    private let range: Range<Int64>?
    private var client: HTTPClient
    private var download: Download
    private var task: HTTPClient.Task<Void>
    private var position: Int64
    private var isPlaylist = false

    init(
        _ url: MediaURL, range: Range<Int64>? = nil, policy: InputPolicy, interrupt: ReadInterrupt
    ) throws {
        (self.policy, self.interrupt, self.range) = (policy, interrupt, range)
        let start = range?.lowerBound ?? 0
        let answer = try Self.ask(url, from: start, to: range?.upperBound, policy, interrupt)
        (client, download, task, self.url) = (answer.client, answer.download, answer.task, answer.url)
        position = start
        let total = answer.total
        length = range == nil ? total : nil
        isSeekable = range == nil && total.map { answer.isPart || $0 <= Self.longestSkip } ?? false
    }

    deinit { Self.end(client, task) }

    private static func end(_ client: HTTPClient, _ task: HTTPClient.Task<Void>) {
        task.cancel()
        // The client lives until it has shut down.
        client.shutdown(queue: .global()) { _ in }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        // A server without ranges sends more than it was asked for.
        let left = range.map { max($0.upperBound - position, 0) } ?? .max
        let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: left)))
        let count = wanted.isEmpty ? 0 : try download.read(into: wanted, interrupt)
        if position == 0, count >= 7, buffer[..<7].elementsEqual("#EXTM3U".utf8) { isPlaylist = true }
        position += Int64(count)
        if isPlaylist, position > Self.longestPlaylist {
            throw DemuxError.failed("the playlist is longer than \(Self.longestPlaylist >> 20) MiB")
        }
        return count
    }

    func seek(to position: Int64) throws {
        Self.end(client, task)
        let answer = try Self.ask(url, from: position, to: nil, policy, interrupt)
        (client, download, task) = (answer.client, answer.download, answer.task)
        self.position = position
    }

    // MARK: - Requests

    private struct Answer {
        var client: HTTPClient
        var download: Download
        var task: HTTPClient.Task<Void>
        var url: MediaURL
        var isPart: Bool
        var total: Int64?
    }

    private static func ask(
        _ url: MediaURL, from start: Int64, to end: Int64?, _ policy: InputPolicy, _ interrupt: ReadInterrupt
    ) throws -> Answer {
        var url = url
        for _ in 0...mostRedirections {
            let address = try policy.address(of: url)
            let client = makeClient(for: url.host, at: address)
            let download = Download()
            var headers = HTTPHeaders([("Accept", "*/*"), ("User-Agent", "Tessera")])
            headers.add(name: "Range", value: "bytes=\(start)-" + (end.map { "\($0 - 1)" } ?? ""))
            if let credentials = credentials(url) { headers.add(name: "Authorization", value: credentials) }
            let text = place(url) + (url.query.map { "?" + $0 } ?? "")
            let request: HTTPClient.Request
            do {
                request = try HTTPClient.Request(url: text, headers: headers)
            } catch {
                client.shutdown(queue: .global()) { _ in }
                throw StreamingError.refused("url: this is no valid \(url.scheme):// URL.")
            }
            let task = client.execute(request: request, delegate: download)
            let head: HTTPResponseHead
            do {
                head = try download.head(interrupt)
            } catch {
                Self.end(client, task)
                throw error
            }
            switch head.status.code {
            case 206, 200:
                if head.status.code == 200, start > 0 {
                    do {
                        try skip(start, of: download, interrupt)
                    } catch {
                        Self.end(client, task)
                        throw error
                    }
                }
                return Answer(
                    client: client, download: download, task: task, url: url, isPart: head.status.code == 206,
                    total: total(head))
            case 301, 302, 303, 307, 308:
                Self.end(client, task)
                guard let place = head.headers.first(name: "Location") else {
                    throw DemuxError.failed("the server redirects to nowhere")
                }
                url = try redirected(url, to: place)
            default:
                Self.end(client, task)
                throw DemuxError.failed("the server answers \(head.status.code)")
            }
        }
        throw DemuxError.failed("the server redirects more than \(mostRedirections) times")
    }

    /// Throws away what comes before the part that is wanted.
    private static func skip(_ count: Int64, of download: Download, _ interrupt: ReadInterrupt) throws {
        guard count <= longestSkip else {
            throw StreamingError.refused(
                "The server sends no parts of files (HTTP ranges), which this one needs: take a server that does, or an MP4 whose index is at its start (ffmpeg -movflags faststart)."
            )
        }
        var left = count
        var scrap = [UInt8](repeating: 0, count: 1 << 16)
        while left > 0 {
            let got = try scrap.withUnsafeMutableBytes { bytes in
                try download.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: bytes.prefix(Int(min(left, 1 << 16)))), interrupt)
            }
            guard got > 0 else { throw DemuxError.failed("the server sends less than the file has") }
            left -= Int64(got)
        }
    }

    /// The URL without credentials and query.
    static func place(_ url: MediaURL) -> String {
        "\(url.scheme)://\(url.authority)\(url.path.isEmpty ? "/" : url.path)"
    }

    private static func credentials(_ url: MediaURL) -> String? {
        guard let parts = url.userInfo?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) else {
            return nil
        }
        let text = parts.map { String($0).percentDecoded ?? String($0) }.joined(separator: ":")
        return "Basic " + Data((parts.count > 1 ? text : text + ":").utf8).base64EncodedString()
    }

    private static func redirected(_ url: MediaURL, to target: String) throws(StreamingError) -> MediaURL {
        guard let absolute = URL(string: target, relativeTo: URL(string: place(url)))?.absoluteString,
            let next = MediaURL(absolute.split(separator: "#").first.map(String.init) ?? "")
        else { throw .refused("The server redirects to what is no URL.") }
        try checkScheme(next)
        return next
    }

    /// What a server names may be anything.
    static func checkScheme(_ url: MediaURL) throws(StreamingError) {
        guard url.scheme == "http" || url.scheme == "https" else {
            throw .refused("The server leads to a URL of the scheme \(url.scheme), which is not taken from a server.")
        }
    }

    /// The length of the whole file: `Content-Range: bytes 0-99/1234`, or `Content-Length`.
    private static func total(_ head: HTTPResponseHead) -> Int64? {
        if head.status.code == 206 {
            return head.headers.first(name: "Content-Range")?.split(separator: "/").last.flatMap { Int64($0) }
        }
        return head.headers.first(name: "Content-Length").flatMap { Int64($0) }
    }

    private static func makeClient(for host: String, at address: IPAddress) -> HTTPClient {
        // Without a time limit for reading: the input itself may let the server wait, and has a limit of its own.
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: HTTPClient.Configuration.Timeout(connect: .seconds(5)))
        configuration.httpVersion = .http1Only
        // A refused connection says so at once; when it is tried again is the input's affair.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.dnsOverride = [host: address.description]
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }
}
