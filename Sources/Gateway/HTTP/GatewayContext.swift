import Basics
import Conference
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// The context of a request: the addresses of its connection.
struct GatewayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The client's address of the connection, from the socket; nil in tests without one.
    var remote: String?
    /// The server's address of the connection.
    var local: String?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        remote = source.channel.remoteAddress?.ipAddress
        local = source.channel.localAddress?.ipAddress
    }
}

/// A request for a route's handler, with the parameters of its path.
struct RouteRequest: Sendable {
    var request: Request
    var context: GatewayContext
    /// Percent-decoded.
    var parameters: [String: String] = [:]
    var source: RequestSource
    /// The address by which the client reaches this server.
    var publicAddress: PublicAddress
    private let largeBodies: LargeBodies
    /// Who asks, for totals that those inside and administrators share with strangers.
    var standing = ShareStanding.stranger

    init(
        request: Request, context: GatewayContext, source: RequestSource, publicAddress: PublicAddress,
        largeBodies: LargeBodies
    ) {
        self.request = request
        self.context = context
        self.source = source
        self.publicAddress = publicAddress
        self.largeBodies = largeBodies
    }

    var headers: HTTPFields { request.headers }

    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// A query parameter, decoded.
    func query(_ name: String) -> String? {
        request.uri.queryParameters.get(name).flatMap { $0.replacing("+", with: " ").percentDecoded ?? $0 }
    }

    /// A query parameter that is a whole number; nil if it is missing.
    ///
    /// - Throws: 400 with the allowed range.
    func wholeNumber(_ name: String, in range: ClosedRange<Int>) throws(APIError) -> Int? {
        guard let text = query(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .badRequest("\(name): a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The room in the path.
    ///
    /// - Throws: 400 for a text that cannot be a room's id.
    func room() throws(APIError) -> String {
        let room = parameter("room")
        guard Names.isRoom(room) else { throw .badRequest("a room's id is \(Names.roomRule)") }
        return room
    }

    /// The whole body.
    ///
    /// - Throws: 413 for a body of more than `limit` bytes, 503 for a large one while too many others are being read.
    func body(upTo limit: Int) async throws -> [UInt8] {
        let announced = headers[.contentLength].flatMap { Int($0) } ?? 0
        var bytes: [UInt8] = []
        var place: LargeBodies.Place?
        for try await part in request.body {
            guard bytes.count + part.readableBytes <= limit else {
                throw APIError(.tooLarge, "the body may have at most \(limit) bytes")
            }
            if place == nil, bytes.count + part.readableBytes > LargeBodies.freeBytes {
                place = largeBodies.take(source.client, as: standing)
                guard place != nil else { throw RouteRequest.tooManyBodies }
                bytes.reserveCapacity(max(0, min(limit, announced)))
            }
            if place?.isLost == true { throw RouteRequest.tooManyBodies }
            bytes.append(contentsOf: part.readableBytesView)
        }
        defer { withExtendedLifetime(place) {} }
        return bytes
    }

    private static let tooManyBodies = APIError(
        .overloaded, "too many large bodies are on their way: try again in a few seconds", headers: [.retryAfter: "5"])

    /// The body as a JSON object that has only the given keys.
    func object(keys: [String]) async throws -> RequestBody {
        try RequestBody(try await body(upTo: 65_536), keys: keys)
    }

    /// The parts of a signed link to a recording's file, where the request has them.
    var recordingLink: RecordingLinks.Link {
        RecordingLinks.Link(id: parameter("id"), expires: query("expires"), signature: query("signature"))
    }

    /// The token of `Authorization: Bearer …`.
    var bearer: String? {
        guard let value = headers[.authorization], value.lowercased().hasPrefix("bearer ") else { return nil }
        let token = value.dropFirst(7).trimmingPrefix { $0 == " " }
        return token.isEmpty ? nil : String(token)
    }

    /// The origin of the page that sends the request; nil for programs, the server's own page, and followed links.
    ///
    /// Requests for images and videos have no `Origin`. Instead browsers send the relation of the page (Fetch Metadata,
    /// W3C) and, unless the page forbids it, its address as `Referer`.
    var pageOrigin: String? {
        if let origin = headers[.origin] { return origin }
        guard let site = headers[.secFetchSite], site != "same-origin", site != "none",
            headers[.secFetchMode] != "navigate"
        else { return nil }
        let parts = (headers[.referer] ?? "").split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count >= 3 ? parts[..<3].joined(separator: "/") : "null"
    }
}

extension IPAddress {
    /// Reads the address of a socket's peer, where a link-local IPv6 address may have a zone: `fe80::1%eth0`.
    init?(withoutZone text: String) { self.init(text.prefix { $0 != "%" }) }
}

extension HTTPField.Name {
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .accept
    static let secFetchMode = HTTPField.Name("Sec-Fetch-Mode") ?? .accept
    static let acceptPatch = HTTPField.Name("Accept-Patch") ?? .accept
    static let acceptPost = HTTPField.Name("Accept-Post") ?? .accept
    static let link = HTTPField.Name("Link") ?? .accept
}
