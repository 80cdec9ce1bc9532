/// An error of a codec, a scaler or a media file.
package enum CodecError: Error, Sendable, CustomStringConvertible {
    /// The library does not have the codec, or refused its settings.
    case unavailable(String)
    /// The data is malformed: the frame or packet is lost, and the codec can go on.
    case invalidData(String)
    /// The frame was decoded with damage and should not be shown.
    case corruptFrame
    /// A picture or a block of samples of another format than the codec was opened for.
    case unsupportedInput(String)
    /// A file could not be opened, read or written.
    case file(path: String, reason: String)
    /// Any other error of the library.
    case failed(operation: String, reason: String)

    package var description: String {
        switch self {
        case .unavailable(let what): "\(what) is not available in the installed codec libraries"
        case .invalidData(let what): "\(what): the data is damaged"
        case .corruptFrame: "the frame was damaged on its way"
        case .unsupportedInput(let what): what
        case .file(let path, let reason): "\(path): \(reason)"
        case .failed(let operation, let reason): "\(operation): \(reason)"
        }
    }
}
