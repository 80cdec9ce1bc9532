import Glibc

/// Why a recording could not be made, or could not go on.
public enum RecordingError: Error, Sendable, CustomStringConvertible, Equatable {
    /// The file or its directory cannot be written; says how to mend it.
    case notWritable(path: String, reason: String)
    /// No space is left; what was recorded so far is kept.
    case diskFull(path: String)
    /// Writing failed half-way; what was recorded so far is kept.
    case writeFailed(path: String, reason: String)
    /// Nothing that can be played is in the file.
    case nothingRecorded(path: String)
    /// Not a file that can be read as a recording.
    case unreadable(path: String, reason: String)
    /// The installed libraries cannot do it.
    case codec(String)
    /// No recording has this id.
    case unknown(id: String)

    public var description: String {
        switch self {
        case .notWritable(let path, let reason):
            "the recording \(path) cannot be written (\(reason)): choose another directory or change its permissions"
        case .diskFull(let path): "no space is left for the recording \(path): it was stopped, what was recorded is kept"
        case .writeFailed(let path, let reason):
            "writing the recording \(path) failed (\(reason)): it was stopped, what was recorded is kept"
        case .nothingRecorded(let path): "there is nothing in the recording \(path)"
        case .unreadable(let path, let reason): "\(path) cannot be read as a recording: \(reason)"
        case .codec(let reason): "the recording cannot be encoded: \(reason)"
        case .unknown(let id): "there is no recording \(id)"
        }
    }

    /// The error for a system call's `errno`.
    static func system(_ code: Int32, path: String) -> RecordingError {
        code == ENOSPC || code == EDQUOT || code == EFBIG
            ? .diskFull(path: path) : .writeFailed(path: path, reason: String(cString: strerror(code)))
    }
}
