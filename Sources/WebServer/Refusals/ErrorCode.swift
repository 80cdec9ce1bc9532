package import HTTPTypes

/// The code of an error, for programs, and the status of an HTTP answer with it. The sentence beside the code is for
/// people, and may change. Here are the codes of HTTP itself; those who use the server add their own.
package struct ErrorCode: Hashable, Sendable {
    package let rawValue: String
    package let status: HTTPResponse.Status

    package init(_ rawValue: String, _ status: HTTPResponse.Status) {
        self.rawValue = rawValue
        self.status = status
    }

    package static let badRequest = ErrorCode("bad_request", .badRequest)
    /// A message that cannot be read; in HTTP's answers it is `badRequest`.
    package static let badMessage = ErrorCode("bad_message", .badRequest)
    package static let unauthorized = ErrorCode("unauthorized", .unauthorized)
    package static let forbidden = ErrorCode("forbidden", .forbidden)
    package static let notFound = ErrorCode("not_found", .notFound)
    package static let methodNotAllowed = ErrorCode("method_not_allowed", .methodNotAllowed)
    package static let notAcceptable = ErrorCode("not_acceptable", .notAcceptable)
    package static let conflict = ErrorCode("conflict", .conflict)
    package static let preconditionFailed = ErrorCode("precondition_failed", .preconditionFailed)
    package static let tooLarge = ErrorCode("too_large", .contentTooLarge)
    package static let unsupportedMediaType = ErrorCode("unsupported_media_type", .unsupportedMediaType)
    package static let rangeNotSatisfiable = ErrorCode("range_not_satisfiable", .rangeNotSatisfiable)
    package static let misdirected = ErrorCode("misdirected", .init(code: 421, reasonPhrase: "Misdirected Request"))
    package static let upgradeRequired = ErrorCode(
        "upgrade_required", .init(code: 426, reasonPhrase: "Upgrade Required"))
    package static let preconditionRequired = ErrorCode(
        "precondition_required", .init(code: 428, reasonPhrase: "Precondition Required"))
    package static let tooFast = ErrorCode("too_fast", .tooManyRequests)
    package static let internalFailure = ErrorCode("internal", .internalServerError)
    package static let overloaded = ErrorCode("overloaded", .serviceUnavailable)

    /// All of the server's own.
    package static let ofServer: [ErrorCode] = [
        .badRequest, .badMessage, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .notAcceptable, .conflict,
        .preconditionFailed, .tooLarge, .unsupportedMediaType, .rangeNotSatisfiable, .misdirected, .upgradeRequired,
        .preconditionRequired, .tooFast, .internalFailure, .overloaded,
    ]
}
