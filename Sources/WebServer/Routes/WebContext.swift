package import Basics
import FoundationEssentials
package import HTTPTypes
package import Hummingbird
import NIOCore

/// The context of a request: the addresses of its connection.
package struct WebContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The client's address of the connection, from the socket; nil in tests without one.
    package var remote: String?
    /// The server's address of the connection.
    package var local: String?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        remote = source.channel.remoteAddress?.ipAddress
        local = source.channel.localAddress?.ipAddress
    }
}

/// A request for a route's handler, with the parameters of its path.
package struct RouteRequest: Sendable {
    package var request: Request
    package var context: WebContext
    /// Percent-decoded.
    package var parameters: [String: String] = [:]
    package var source: RequestSource
    /// The address by which the client reaches this server.
    package var publicAddress: PublicAddress
    private let largeBodies: LargeBodies
    /// Who asks, for totals that those inside and administrators share with strangers.
    package var standing = ShareStanding.stranger

    package init(
        request: Request, context: WebContext, source: RequestSource, publicAddress: PublicAddress,
        largeBodies: LargeBodies
    ) {
        self.request = request
        self.context = context
        self.source = source
        self.publicAddress = publicAddress
        self.largeBodies = largeBodies
    }

    package var headers: HTTPFields { request.headers }

    package func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// A query parameter, decoded.
    package func query(_ name: String) -> String? {
        request.uri.queryParameters.get(name).flatMap { $0.replacing("+", with: " ").percentDecoded ?? $0 }
    }

    /// A query parameter that is a whole number; nil if it is missing.
    ///
    /// - Throws: 400 with the allowed range.
    package func wholeNumber(_ name: String, in range: ClosedRange<Int>) throws(APIError) -> Int? {
        guard let text = query(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .badRequest("\(name): a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The whole body.
    ///
    /// - Throws: 413 for a body of more than `limit` bytes, 503 for a large one while too many others are being read.
    package func body(upTo limit: Int) async throws -> [UInt8] {
        let announced = headers[.contentLength].flatMap { Int($0) } ?? 0
        var bytes: [UInt8] = []
        var place: LargeBodies.Permit?
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
    package func object(keys: [String]) async throws -> ObjectBody {
        try ObjectBody(try await body(upTo: 65_536), keys: keys)
    }

    /// The token of `Authorization: Bearer …`.
    package var bearer: String? {
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
    package init?(withoutZone text: String) { self.init(text.prefix { $0 != "%" }) }
}

extension HTTPField.Name {
    package static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .accept
    package static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .accept
    package static let secFetchMode = HTTPField.Name("Sec-Fetch-Mode") ?? .accept
    package static let acceptPatch = HTTPField.Name("Accept-Patch") ?? .accept
    package static let acceptPost = HTTPField.Name("Accept-Post") ?? .accept
    package static let link = HTTPField.Name("Link") ?? .accept
}
