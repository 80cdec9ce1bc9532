/// The code of an error, for programs: in HTTP answers, in `error` messages of signalling, in the label of
/// `tessera_joins_refused_total`. The sentence beside the code is for people, and may change.
enum ErrorCode: String, Sendable, CaseIterable {
    // Codes of signalling's `error` messages and of HTTP answers.
    case badMessage = "bad_message"
    case badSDP = "bad_sdp"
    case noCommonCodec = "no_common_codec"
    case roomFull = "room_full"
    case roomLocked = "room_locked"
    case pinRequired = "pin_required"
    case wrongPIN = "wrong_pin"
    /// Not let in by a moderator.
    case refused
    case unauthorized
    case forbidden
    case unknownLayout = "unknown_layout"
    case tooFast = "too_fast"
    case overloaded
    case internalFailure = "internal"

    // Codes of HTTP answers only.
    case roomNotFound = "room_not_found"
    case participantNotFound = "participant_not_found"
    case recordingNotFound = "recording_not_found"
    case streamNotFound = "stream_not_found"
    case inputNotFound = "input_not_found"
    case viewNotFound = "view_not_found"
    case sessionNotFound = "session_not_found"
    case notFound = "not_found"
    /// The stream is there, and nobody sends yet.
    case noMedia = "no_media"
    case badLayout = "bad_layout"
    case layoutInUse = "layout_in_use"
    case recordingRunning = "recording_running"
    case recordingNotRunning = "recording_not_running"
    case recordingFailed = "recording_failed"
    case pictureFailed = "picture_failed"
    case conflict
    case draining
    case badRequest = "bad_request"
    case methodNotAllowed = "method_not_allowed"
    case notAcceptable = "not_acceptable"
    case unsupportedMediaType = "unsupported_media_type"
    case preconditionFailed = "precondition_failed"
    case preconditionRequired = "precondition_required"
    case rangeNotSatisfiable = "range_not_satisfiable"
    case tooLarge = "too_large"
    case misdirected
    case upgradeRequired = "upgrade_required"
}
