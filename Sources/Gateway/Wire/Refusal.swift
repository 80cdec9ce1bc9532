import Basics
import Conference

/// Why something was not done: a code, and a sentence for people.
struct Refusal: Error, Sendable, Equatable {
    var code: ErrorCode
    var message: String
    /// Seconds until it is worth trying again; nil where trying again changes nothing.
    var retryAfter: Int?

    init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// With the time to wait in whole seconds, at least one.
    init(_ code: ErrorCode, _ message: String, retryAfter: Duration) {
        self.init(code, message)
        self.retryAfter = max(1, Int(retryAfter.inSeconds.rounded(.up)))
    }

    init(_ error: ConferenceError) {
        self.init(ErrorCode(error), error.message)
        if let wait = error.retryAfter { retryAfter = Int(wait.inSeconds.rounded(.up)) }
    }
}

extension Refusal {
    /// What was thrown on the way to a seat: a refusal, or something that is not to happen.
    init(any error: any Error) {
        switch error {
        case let error as Refusal: self = error
        case let error as ConferenceError: self.init(error)
        default: self.init(.internalFailure, "the server could not do this")
        }
    }
}

extension ErrorCode {
    init(_ error: ConferenceError) {
        self =
            switch error {
            case .roomNotFound: .roomNotFound
            case .participantNotFound: .participantNotFound
            case .recordingNotFound: .recordingNotFound
            case .roomFull: .roomFull
            case .roomLocked: .roomLocked
            case .unknownLayout: .unknownLayout
            case .badLayout: .badLayout
            case .layoutInUse: .layoutInUse
            case .badSDP: .badSDP
            case .noCommonCodec: .noCommonCodec
            case .badRequest: .badMessage
            case .forbidden: .forbidden
            case .unauthorized: .unauthorized
            case .overloaded, .draining, .atCapacity: .overloaded
            case .tooFast: .tooFast
            case .recordingRunning: .recordingRunning
            case .recordingNotRunning: .recordingNotRunning
            case .conflict: .conflict
            case .recordingFailed: .recordingFailed
            case .configuration, .internalFailure: .internalFailure
            }
    }
}
