package import HTTPTypes
package import Hummingbird

/// An error answer: `{"error": {"code", "message"}}` with a fitting status.
package struct APIError: Error, HTTPResponseError, Sendable, Equatable {
    package var status: HTTPResponse.Status
    package var code: ErrorCode
    package var message: String
    package var headers: HTTPFields = [:]

    /// - Parameter status: nil: the one that fits the code.
    package init(_ code: ErrorCode, _ message: String, status: HTTPResponse.Status? = nil, headers: HTTPFields = [:]) {
        self.status = status ?? code.status
        self.code = code
        self.message = message
        self.headers = headers
        if self.status == .unauthorized { self.headers[.wwwAuthenticate] = "Bearer" }
        if self.status == .serviceUnavailable || self.status == .tooManyRequests, headers[.retryAfter] == nil {
            self.headers[.retryAfter] = "2"
        }
    }

    /// Converts a refusal of an endpoint or of the conference.
    package init(_ refusal: Refusal) {
        // `bad_message` of signalling is `bad_request` in HTTP.
        self.init(
            refusal.code == .badMessage ? .badRequest : refusal.code, refusal.message,
            headers: refusal.retryAfter.map { [.retryAfter: String($0)] } ?? [:])
    }

    package var response: Response {
        var response = Response.json(
            ["error": ["code": .string(code.rawValue), "message": .string(message)]], status: status)
        response.headers.append(contentsOf: headers)
        return response
    }

    package func response(from request: Request, context: some RequestContext) throws -> Response { response }

    package static func badRequest(_ message: String) -> APIError { APIError(.badRequest, message) }
    package static func notFound(_ what: String) -> APIError { APIError(.notFound, what) }
    /// A plain request where only a WebSocket can be opened.
    package static var webSocketOnly: APIError {
        APIError(
            .upgradeRequired, "this is a WebSocket endpoint, version 13",
            headers: [.upgrade: "websocket", .connection: "Upgrade"])
    }
}

extension Response {
    package static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: value.bytes)))
    }

    /// JSON that is encoded already.
    package static func json(_ text: ByteBuffer) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: text))
    }

    package static func text(
        _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    )
        -> Response
    {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    package static func bytes(_ bytes: [UInt8], type: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
