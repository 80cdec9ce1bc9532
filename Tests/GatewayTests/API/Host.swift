import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import WebFiles

@testable import Admission
@testable import Gateway
@testable import Management
@testable import Outbound
@testable import Settings
@testable import WebServer

/// An answer, read to its end.
struct Answer {
    var status: Int
    var headers: HTTPFields
    var body: [UInt8]

    var json: JSONValue { (try? JSON.decode(JSONValue.self, from: body)) ?? .null }
    var code: JSONValue? { json["error"]?["code"] }
}

private struct Collector: ResponseBodyWriter {
    final class Box: Sendable {
        let bytes = LockedBytes()
    }
    let box: Box
    mutating func write(_ buffer: ByteBuffer) async throws { box.bytes.append(Array(buffer.readableBytesView)) }
    consuming func finish(_ trailers: HTTPFields?) async throws {}
}

/// Bytes behind a lock.
private final class LockedBytes: @unchecked Sendable {
    private let lock = NSLock()
    private var content: [UInt8] = []
    func append(_ bytes: [UInt8]) { lock.withLock { content += bytes } }
    var all: [UInt8] { lock.withLock { content } }
}

extension WebFile {
    /// A file that is not compressed.
    static func text(_ name: String, _ text: String, isHashed: Bool = false) -> WebFile {
        WebFile(name: name, isHashed: isHashed, digest: "digest of \(text.utf8.count)", text: text)
    }

    static func page(_ html: String) -> WebFile { text("index.html", html) }
}

/// The endpoints without a socket.
struct Host {
    var endpoints: Endpoints
    var service: FakeConference

    init(
        _ service: FakeConference = FakeConference(), assets: [WebFile] = [.page("<html>"), .text("app.js", "1")],
        webhooks: Webhooks? = nil,
        change: (inout TesseraConfiguration) -> Void = { _ in }
    ) async {
        var settings = TesseraConfiguration()
        settings.limits.joinsPerSecondPerAddress = 1000
        settings.limits.requestsPerSecondPerAddress = 100_000
        change(&settings)
        self.service = service
        endpoints = await Endpoints(
            settings, conference: service.services, webhooks: webhooks,
            assets: WebAssets(assets), usesTLS: false,
            machineName: "machine", logger: Logger(label: "test"))
    }

    /// - Parameters:
    ///   - address: the client's.
    ///   - local: the server's address of the connection.
    ///   - name: the `Host` header.
    func ask(
        _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields = [:], body: String = "",
        from address: String = "127.0.0.1",
        at local: String = "127.0.0.1", host name: String? = "localhost:8080"
    ) async throws -> Answer {
        let head = HTTPRequest(method: method, scheme: "http", authority: name, path: path, headerFields: headers)
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body)))
        let channel = EmbeddedChannel()
        channel.remoteAddress = try NIOCore.SocketAddress(ipAddress: address, port: 1000)
        channel.localAddress = try NIOCore.SocketAddress(ipAddress: local, port: 8080)
        let context = WebContext(
            source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test")))
        let response = try await endpoints.responder.respond(to: request, context: context)
        let box = Collector.Box()
        try await response.body.write(Collector(box: box))
        return Answer(status: response.status.code, headers: response.headers, body: box.bytes.all)
    }
}
