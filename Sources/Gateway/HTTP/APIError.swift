import HTTPTypes
import Hummingbird

/// An error answer: `{"error": {"code", "message"}}` with a fitting status.
struct APIError: Error, HTTPResponseError, Sendable, Equatable {
    var status: HTTPResponse.Status
    var code: ErrorCode
    var message: String
    var headers: HTTPFields = [:]

    /// - Parameter status: nil: the one that fits the code.
    init(_ code: ErrorCode, _ message: String, status: HTTPResponse.Status? = nil, headers: HTTPFields = [:]) {
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
    init(_ refusal: Refusal) {
        // `bad_message` of signalling is `bad_request` in HTTP.
        self.init(
            refusal.code == .badMessage ? .badRequest : refusal.code, refusal.message,
            headers: refusal.retryAfter.map { [.retryAfter: String($0)] } ?? [:])
    }

    var response: Response {
        var response = Response.json(
            ["error": ["code": .string(code.rawValue), "message": .string(message)]], status: status)
        response.headers.append(contentsOf: headers)
        return response
    }

    func response(from request: Request, context: some RequestContext) throws -> Response { response }

    static func badRequest(_ message: String) -> APIError { APIError(.badRequest, message) }
    static func notFound(_ what: String) -> APIError { APIError(.notFound, what) }
    /// A plain request where only a WebSocket can be opened.
    static var webSocketOnly: APIError {
        APIError(
            .upgradeRequired, "this is a WebSocket endpoint, version 13",
            headers: [.upgrade: "websocket", .connection: "Upgrade"])
    }
}

extension ErrorCode {
    var status: HTTPResponse.Status {
        switch self {
        case .badMessage, .badRequest, .badSDP: .badRequest
        case .unauthorized, .pinRequired, .wrongPIN: .unauthorized
        case .forbidden, .refused: .forbidden
        case .notFound, .roomNotFound, .participantNotFound, .recordingNotFound, .streamNotFound, .inputNotFound,
            .viewNotFound,
            .sessionNotFound, .unknownLayout:
            .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .notAcceptable: .notAcceptable
        case .roomLocked, .recordingRunning, .recordingNotRunning, .layoutInUse, .conflict: .conflict
        case .preconditionFailed: .preconditionFailed
        case .tooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .rangeNotSatisfiable: .rangeNotSatisfiable
        case .misdirected: HTTPResponse.Status(code: 421, reasonPhrase: "Misdirected Request")
        case .noCommonCodec, .badLayout: .unprocessableContent
        case .upgradeRequired: HTTPResponse.Status(code: 426, reasonPhrase: "Upgrade Required")
        case .preconditionRequired: HTTPResponse.Status(code: 428, reasonPhrase: "Precondition Required")
        case .tooFast: .tooManyRequests
        case .internalFailure, .recordingFailed, .pictureFailed: .internalServerError
        case .roomFull, .overloaded, .draining, .noMedia: .serviceUnavailable
        }
    }
}

extension Response {
    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: value.bytes)))
    }

    /// JSON that is encoded already.
    static func json(_ text: ByteBuffer) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: text))
    }

    static func text(_ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8")
        -> Response
    {
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
