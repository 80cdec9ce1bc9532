import Basics
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// What is known of a request beside itself.
struct GatewayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Who is at the other end of the connection; nil in tests without one.
    var remote: IPAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        remote = source.channel.remoteAddress?.ipAddress.flatMap { IPAddress($0)?.unmapped }
    }
}

/// A request for a route's handler, with the parts of its path.
struct RouteRequest: Sendable {
    var request: Request
    var context: GatewayContext
    /// Percent-decoded.
    var parameters: [String: String]

    var headers: HTTPFields { request.headers }

    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// A query parameter, decoded.
    func query(_ name: String) -> String? {
        request.uri.queryParameters.get(name).flatMap { $0.replacing("+", with: " ").removingPercentEncoding ?? $0 }
    }

    /// The room in the path, if it can be one.
    func room() throws(APIError) -> String {
        let room = parameter("room")
        guard isRoomID(room) else {
            throw .badRequest("a room's id is 1 to 64 characters, without control characters, /, \\, ?, # and %, and no dot in front")
        }
        return room
    }

    /// The whole body, if it is not larger than `limit` bytes.
    func body(upTo limit: Int) async throws -> [UInt8] {
        do {
            let buffer = try await request.body.collect(upTo: limit)
            return Array(buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw APIError(.contentTooLarge, "too_large", "the body may have at most \(limit) bytes")
        }
    }

    /// The body as a JSON object with none but the keys named.
    func object<Body: Decodable>(_ type: Body.Type, keys: [String], upTo limit: Int = 65_536) async throws -> Body {
        let bytes = try await body(upTo: limit)
        do {
            if case .object(let members) = try JSON.decode(JSONValue.self, from: bytes.isEmpty ? Array("{}".utf8) : bytes) {
                for key in members.keys.sorted() where !keys.contains(key) {
                    let hint = suggestion(for: key, among: keys).map { "; did you mean \($0)?" } ?? ""
                    throw APIError.badRequest("there is no key \(key) here\(hint); allowed are \(keys.joined(separator: ", "))")
                }
            } else {
                throw APIError.badRequest("the body must be a JSON object")
            }
            return try JSON.decode(type, from: bytes.isEmpty ? Array("{}".utf8) : bytes)
        } catch let error as APIError {
            throw error
        } catch {
            throw APIError.badRequest("the body: " + JSON.explain(error))
        }
    }

    /// The token of `Authorization: Bearer …`.
    var bearer: String? {
        guard let value = headers[.authorization], value.lowercased().hasPrefix("bearer ") else { return nil }
        let token = value.dropFirst(7).trimmingPrefix { $0 == " " }
        return token.isEmpty ? nil : String(token)
    }

    /// What the client calls us.
    var hosts: [String] {
        [request.head.authority, request.headers[.forwardedHost]].compactMap { $0 }
    }

    /// Asked from this machine, and not by a proxy on it for somebody else.
    var isLocal: Bool {
        guard let remote = context.remote, remote.isLoopback else { return false }
        return headers[.forwardedFor] == nil && headers[.forwarded] == nil
    }
}

extension HTTPField.Name {
    static let forwardedHost = HTTPField.Name("X-Forwarded-Host") ?? .accept
    static let forwardedFor = HTTPField.Name("X-Forwarded-For") ?? .accept
    static let forwarded = HTTPField.Name("Forwarded") ?? .accept
    static let acceptPatch = HTTPField.Name("Accept-Patch") ?? .accept
    static let acceptPost = HTTPField.Name("Accept-Post") ?? .accept
    static let link = HTTPField.Name("Link") ?? .accept
}
