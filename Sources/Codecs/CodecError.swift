/// What a codec, a scaler or a media file could not do.
public enum CodecError: Error, Sendable, CustomStringConvertible {
    /// The library has no such codec, or refused its settings.
    case unavailable(String)
    /// The bytes are not what they should be; the frame or packet is lost, the codec goes on.
    case invalidData(String)
    /// The frame came out damaged and is not worth showing.
    case corruptFrame
    /// A picture or block of samples that the codec was not opened for.
    case unsupportedInput(String)
    /// A file that could not be opened, read or written.
    case file(path: String, reason: String)
    /// Anything else that the library said.
    case failed(operation: String, reason: String)

    public var description: String {
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
