import HTTPTypes
import Hummingbird

/// An answer that says no: `{"error": {"code", "message"}}` with a fitting status.
struct APIError: Error, HTTPResponseError, Sendable, Equatable {
    var status: HTTPResponse.Status
    var code: String
    var message: String
    var headers: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String, headers: HTTPFields = [:]) {
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers
    }

    /// What the conference refused, with the status that fits its code.
    init(_ error: ServiceError) {
        let status: HTTPResponse.Status =
            switch error.code {
            case "bad_message", "bad_request": .badRequest
            case "bad_sdp": .badRequest
            case "no_common_codec", "bad_layout": .unprocessableContent
            case "unauthorized": .unauthorized
            case "forbidden": .forbidden
            case "unknown_layout": .notFound
            case "room_full", "overloaded": .serviceUnavailable
            case "too_fast": .tooManyRequests
            case "room_locked", "room_exists", "recording_running", "recording_not_running", "layout_in_use", "conflict": .conflict
            case let code where code.hasSuffix("_not_found"): .notFound
            default: .internalServerError
            }
        // What signalling calls a bad message is a bad request here.
        self.init(status, error.code == "bad_message" ? "bad_request" : error.code, error.message)
        let wait = error.retryAfter ?? (status == .serviceUnavailable || status == .tooManyRequests ? 2 : nil)
        if let wait { headers[.retryAfter] = String(wait) }
        if status == .unauthorized { headers[.wwwAuthenticate] = "Bearer" }
    }

    var response: Response {
        let body: JSONValue = ["error": ["code": .string(code), "message": .string(message)]]
        var response = Response.json(body, status: status)
        response.headers.append(contentsOf: headers)
        return response
    }

    func response(from request: Request, context: some RequestContext) throws -> Response { response }

    static func badRequest(_ message: String) -> APIError { APIError(.badRequest, "bad_request", message) }
    static func notFound(_ what: String) -> APIError { APIError(.notFound, "not_found", what) }
}

extension Response {
    static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
        guard let bytes = try? JSON.encode(value) else { return Response(status: .internalServerError) }
        return Response(
            status: status, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// JSON that was written before.
    static func json(_ text: ByteBuffer) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: text))
    }

    static func text(_ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8") -> Response {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    static func bytes(_ bytes: [UInt8], type: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
