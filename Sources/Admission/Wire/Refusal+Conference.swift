import Basics
package import Conference
package import WebServer

extension ConferenceError: RefusalConvertible {
    package var refusal: Refusal { Refusal(self) }
}

extension Refusal {
    package init(_ error: ConferenceError) {
        self.init(ErrorCode(error), error.message)
        if let wait = error.retryAfter { retryAfter = Int(wait.inSeconds.rounded(.up)) }
    }
}

extension Refusal {
    /// The refusal of a client that was not let in; nil where it was.
    package init?(_ end: WaitingEnd) {
        switch end {
        case .admitted: return nil
        case .refused: self.init(.refused, "A moderator did not let you in.")
        case .timeout: self.init(.refused, "Nobody has let you in: try again later.")
        case .left: self.init(.conflict, "The wait has ended.")
        case .ended(.draining): self.init(ConferenceError.draining)
        case .ended(.moved):
            self.init(.overloaded, "The room moves to another server: try again.", retryAfter: .seconds(1))
        case .ended: self.init(.refused, "The room has ended.")
        }
    }

    /// Converts an error of a join: a refusal, a `ConferenceError`, or an unexpected one.
    package init(any error: any Error) {
        switch error {
        case let error as Refusal: self = error
        case let error as any RefusalConvertible: self = error.refusal
        default: self.init(.internalFailure, "the server could not do this")
        }
    }
}

extension ErrorCode {
    package init(_ error: ConferenceError) {
        self =
            switch error {
            case .roomNotFound: .roomNotFound
            case .participantNotFound: .participantNotFound
            case .recordingNotFound: .recordingNotFound
            case .streamNotFound: .streamNotFound
            case .inputNotFound: .inputNotFound
            case .roomFull: .roomFull
            case .roomLocked: .roomLocked
            case .pinRequired: .pinRequired
            case .wrongPIN: .wrongPIN
            case .mustWait: .refused
            case .unknownLayout: .unknownLayout
            case .unknownView: .viewNotFound
            case .badLayout: .badLayout
            case .layoutInUse: .layoutInUse
            case .badSDP: .badSDP
            case .noCommonCodec: .noCommonCodec
            case .badRequest: .badMessage
            case .forbidden: .forbidden
            case .unauthorized: .unauthorized
            case .overloaded, .draining, .moving, .atCapacity: .overloaded
            case .tooFast: .tooFast
            case .recordingRunning: .recordingRunning
            case .recordingNotRunning: .recordingNotRunning
            case .conflict: .conflict
            case .recordingFailed: .recordingFailed
            case .pictureNotFound, .guestLinkNotFound: .notFound
            case .badPicture: .unsupportedMediaType
            case .tooLarge: .tooLarge
            case .pictureFailed: .pictureFailed
            case .configuration, .internalFailure: .internalFailure
            }
    }
}

extension Refusal {
    /// Why a cluster did not change a layout now.
    package static func layoutUnchanged(_ why: String) -> Refusal {
        Refusal(.overloaded, "\(why), so the layout is not changed: try again", retryAfter: .seconds(2))
    }
}
