import HTTPTypes
package import WebServer

/// The codes of rooms and of what is in them, in HTTP's answers, in `error` messages of signalling, and in the label of
/// `tessera_joins_refused_total`.
extension ErrorCode: CaseIterable {
    package static let badSDP = ErrorCode("bad_sdp", .badRequest)
    package static let noCommonCodec = ErrorCode("no_common_codec", .unprocessableContent)
    package static let roomFull = ErrorCode("room_full", .serviceUnavailable)
    package static let roomLocked = ErrorCode("room_locked", .conflict)
    package static let pinRequired = ErrorCode("pin_required", .unauthorized)
    package static let wrongPIN = ErrorCode("wrong_pin", .unauthorized)
    /// Not let in by a moderator.
    package static let refused = ErrorCode("refused", .forbidden)
    package static let unknownLayout = ErrorCode("unknown_layout", .notFound)

    // Codes of HTTP answers only.
    package static let roomNotFound = ErrorCode("room_not_found", .notFound)
    package static let participantNotFound = ErrorCode("participant_not_found", .notFound)
    package static let recordingNotFound = ErrorCode("recording_not_found", .notFound)
    package static let streamNotFound = ErrorCode("stream_not_found", .notFound)
    package static let inputNotFound = ErrorCode("input_not_found", .notFound)
    package static let viewNotFound = ErrorCode("view_not_found", .notFound)
    package static let sessionNotFound = ErrorCode("session_not_found", .notFound)
    /// The stream is there, and nobody sends yet.
    package static let noMedia = ErrorCode("no_media", .serviceUnavailable)
    package static let badLayout = ErrorCode("bad_layout", .unprocessableContent)
    package static let layoutInUse = ErrorCode("layout_in_use", .conflict)
    package static let recordingRunning = ErrorCode("recording_running", .conflict)
    package static let recordingNotRunning = ErrorCode("recording_not_running", .conflict)
    package static let recordingFailed = ErrorCode("recording_failed", .internalServerError)
    package static let pictureFailed = ErrorCode("picture_failed", .internalServerError)
    package static let draining = ErrorCode("draining", .serviceUnavailable)

    package static let allCases: [ErrorCode] =
        ofServer + [
            .badSDP, .noCommonCodec, .roomFull, .roomLocked, .pinRequired, .wrongPIN, .refused, .unknownLayout,
            .roomNotFound, .participantNotFound, .recordingNotFound, .streamNotFound, .inputNotFound, .viewNotFound,
            .sessionNotFound, .noMedia, .badLayout, .layoutInUse, .recordingRunning, .recordingNotRunning,
            .recordingFailed, .pictureFailed, .draining,
        ]
}
