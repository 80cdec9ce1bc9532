package import Admission
import Basics
import Conference
import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Streaming
package import WebServer

/// Serves rooms to players of HLS (RFC 8216bis), who hold no seat: each request is checked by the rules of joins.
package struct HLSEndpoint: Sendable {
    package let joins: JoinService
    package let policy: AccessPolicy
    /// For requests that may wait for the next media.
    package let places: SharedLimit

    /// A viewer waits with one request most of the time; two while a segment ends.
    private static let (waiting, waitingPerAddress) = (4000, 512)

    package init(_ joins: JoinService, policy: AccessPolicy) {
        self.joins = joins
        self.policy = policy
        places = SharedLimit("hls_waiting", total: Self.waiting, perAddress: Self.waitingPerAddress)
    }

    /// A stream, and what its addresses have behind their names.
    private struct Opened {
        var stream: HLSStream
        var query: String
        var isPrivate: Bool
    }

    // MARK: - Files

    /// The playlist of playlists.
    package func index(_ asked: RouteRequest) async throws -> Response {
        let opened = try await open(asked, isNew: true)
        let window = try await waiting(asked) { await opened.stream.playlist(segment: 0, part: 0) }
        let room = joins.conference.rooms.room(try asked.room())
        let rate = room?.renditions.filter { $0.codec == .h264 }.map(\.bitRate).max() ?? .kilobits(1500)
        guard let text = window.multivariant(query: opened.query, videoRate: rate) else { throw Self.notYet }
        return Self.playlist(text)
    }

    /// The playlist of the media, a header, a segment or a part.
    package func file(_ asked: RouteRequest) async throws -> Response {
        let opened = try await open(asked, isNew: false)
        guard let (id, file) = HLSFile.parse(asked.parameter("file")), id == opened.stream.id else {
            throw APIError.notFound("there is no such file (any more); index.m3u8 has the present stream")
        }
        guard case .playlist = file else { return try await media(file, opened, asked) }
        let segment = try number("_HLS_msn", asked)
        let part = try number("_HLS_part", asked)
        if segment == nil, part != nil { throw APIError.badRequest("_HLS_part: only together with _HLS_msn") }
        let window = try await waiting(asked) { await opened.stream.playlist(segment: segment, part: part) }
        return Self.playlist(window.playlist(query: opened.query))
    }

    private func media(_ file: HLSFile, _ opened: Opened, _ asked: RouteRequest) async throws -> Response {
        let pieces = try await holdingPlace(asked) { await opened.stream.media(file) }
        guard let pieces else { throw APIError.notFound("this part of the stream is not kept any more, or never came") }
        // A file of a name never changes.
        let reach = opened.isPrivate ? "private" : "public"
        let length = pieces.reduce(0) { $0 + $1.count }
        return Response(
            status: .ok, headers: [.contentType: "video/mp4", .cacheControl: "\(reach), max-age=60, immutable"],
            body: ResponseBody(contentLength: length) { writer in
                for piece in pieces { try await writer.write(ByteBuffer(bytes: piece)) }
                try await writer.finish(nil)
            })
    }

    private static func playlist(_ text: String) -> Response {
        .text(text, type: "application/vnd.apple.mpegurl")
    }

    // MARK: - Waiting

    /// - Throws: 400 for a request too far ahead, 503 where nothing came in time or too many wait.
    private func waiting(
        _ asked: RouteRequest, _ body: @escaping @Sendable () async -> HLSStream.Result
    ) async throws(APIError) -> HLSWindow {
        switch try await holdingPlace(asked, body) {
        case .ready(let window): return window
        case .never:
            throw .badRequest(
                "_HLS_msn, _HLS_part: too far ahead; ask for the segment or part that follows the playlist's last one")
        case .timeout: throw Self.notYet
        }
    }

    private func holdingPlace<Value: Sendable>(
        _ asked: RouteRequest, _ body: @escaping @Sendable () async -> Value
    ) async throws(APIError) -> Value {
        guard let place = places.take(asked.source.client, as: asked.standing) else { throw Self.tooManyWait }
        let wait = Task { await body() }
        place.onLoss { wait.cancel() }
        let value = await withTaskCancellationHandler {
            await wait.value
        } onCancel: {
            wait.cancel()
        }
        if place.isLost { throw Self.tooManyWait }
        return value
    }

    private static let tooManyWait = APIError(
        .overloaded,
        "\(waiting) requests wait for media, or \(waitingPerAddress) of this address, which is all that may",
        headers: [.retryAfter: "1"])

    private static let notYet = APIError(
        .noMedia, "the stream has no media yet: it comes while somebody is in the room",
        headers: [.retryAfter: "1"])

    private func number(_ name: String, _ asked: RouteRequest) throws(APIError) -> Int? {
        guard let text = asked.query(name) else { return nil }
        guard let number = HLSFile.wholeNumber(text) else {
            throw .badRequest("\(name): a whole number of at most 9 digits")
        }
        return number
    }

    // MARK: - Who may watch

    /// The stream of the room in the path.
    ///
    /// - Parameter isNew: whether a player begins.
    /// - Throws: 401, 403 or 409 by the rules of joins, 404 for a room that has no stream.
    private func open(_ asked: RouteRequest, isNew: Bool) async throws -> Opened {
        let room = try asked.room()
        var request = JoinRequest(room: room, name: "HLS")
        request.client.address = asked.source.client
        let token = asked.bearer ?? asked.query("token")
        let stream: HLSStream?
        if policy.hasAdminToken(asked) {
            stream = try joins.watchAsAdministrator(request, isNew: isNew)
        } else {
            request.pin = asked.query("pin") ?? joins.pin(inToken: token)
            stream = try await joins.watch(request, isNew: isNew, token: token)
        }
        let settings = joins.conference.rooms.settings(of: room)
        guard let stream else {
            guard settings?.hls == true else {
                throw APIError.notFound(
                    "this room is not streamed by HLS; PUT /api/rooms/{room} with {\"hls\": true} changes that")
            }
            throw Self.notYet
        }
        let isPrivate = joins.needsTokens || settings?.isPrivate != false
        var carried: [String] = []
        if joins.needsTokens, let token = asked.query("token") { carried.append("token=" + Self.escaped(token)) }
        if let pin = request.pin, settings?.pin != nil { carried.append("pin=" + Self.escaped(pin)) }
        let query = carried.isEmpty ? "" : "?" + carried.joined(separator: "&")
        return Opened(stream: stream, query: query, isPrivate: isPrivate)
    }

    /// The text as a value in a query, which in a playlist stands between quotes.
    private static func escaped(_ text: String) -> String {
        text.percentEncoded(keeping: "-._~")
    }
}
