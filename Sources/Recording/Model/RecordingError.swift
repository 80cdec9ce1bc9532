import Codecs
import Glibc

/// Why a recording could not be made, or could not go on.
package enum RecordingError: Error, Sendable, CustomStringConvertible, Equatable {
    /// The file or its directory cannot be written.
    case notWritable(path: String, reason: String)
    /// The disk is full; the media recorded so far is kept.
    case diskFull(path: String)
    /// A write failed; the media recorded so far is kept.
    case writeFailed(path: String, reason: String)
    /// The file has no media.
    case nothingRecorded(path: String)
    /// The file cannot be read as a recording.
    case unreadable(path: String, reason: String)
    /// The installed libraries lack a codec or refuse its settings.
    case codec(String)
    /// No recording has this id.
    case unknown(id: String)
    /// The free space is below the reserve: no recording begins, and running ones are closed. Both numbers are in
    /// bytes.
    case lowSpace(directory: String, free: Int, wanted: Int)
    /// The file or its directory was removed while the file was written.
    case gone(path: String)
    /// The recording reached `RecordingLimits.length`.
    case tooLong(limit: Duration)
    /// The recording reached `RecordingLimits.size`, in bytes.
    case tooLarge(limit: Int)
    /// Another process writes the file.
    case inUse(path: String)
    /// Recordings cannot be put together.
    case notJoinable(String)
    /// The catalogue is full.
    case tooMany(directory: String, count: Int)

    /// The text with full paths, for the log and the command line.
    package var description: String { text { $0 } }

    /// The text for clients, with file names only, so that it does not reveal paths on the server.
    package var publicDescription: String {
        text { path in path.split(separator: "/").last.map(String.init) ?? path }
    }

    /// Runs calls of the codecs, whose errors become those of a recording.
    static func fromCodec<Result>(_ body: () throws(CodecError) -> Result) throws(RecordingError) -> Result {
        do throws(CodecError) { return try body() } catch { throw .codec("\(error)") }
    }

    /// Whether the recording ended early but in order, without losing recorded media.
    package var isOrderlyEnd: Bool { if case .lowSpace = self { true } else { isLimit } }

    /// Whether the recording ended because of its own limits; nothing is wrong with the disk then.
    var isLimit: Bool {
        switch self {
        case .tooLong, .tooLarge: true
        default: false
        }
    }

    private func text(_ name: (String) -> String) -> String {
        switch self {
        case .notWritable(let path, let reason):
            "the recording \(name(path)) cannot be written (\(reason)): choose another directory or change its permissions"
        case .diskFull(let path):
            "no space is left for the recording \(name(path)): it was stopped, what was recorded is kept"
        case .writeFailed(let path, let reason):
            "writing the recording \(name(path)) failed (\(reason)): it was stopped, what was recorded is kept"
        case .nothingRecorded(let path): "there is nothing in the recording \(name(path))"
        case .unreadable(let path, let reason): "\(name(path)) cannot be read as a recording: \(reason)"
        case .codec(let reason): "the recording cannot be encoded: \(reason)"
        case .lowSpace(let directory, let free, let wanted):
            "only \(Self.text(bytes: free)) are free for recordings in \(name(directory)), and \(Self.text(bytes: wanted)) are to be: "
                + "remove old recordings, or lower recording.minimumFree"
        case .gone(let path):
            "the recording \(name(path)) was taken away while it was written: its directory must stay where it is"
        case .inUse(let path): "another program writes \(name(path)): it can be closed once that has ended"
        case .tooMany(let directory, let count):
            "\(name(directory)) holds \(count) recordings: move some of them elsewhere"
        case .tooLong(let limit):
            "the recording ended after \(Self.text(limit)), the most that recording.maxLength allows: start another one to go on"
        case .tooLarge(let limit):
            "the recording ended at \(Self.text(bytes: limit)), the most that recording.maxSize allows: start another one to go on"
        case .notJoinable(let reason): "the recordings cannot be joined: \(reason)"
        case .unknown(let id): "there is no recording \(id)"
        }
    }

    /// A size such as `512 KiB` or `1.5 GiB`.
    static func text(bytes: Int) -> String {
        let (units, value) = (["bytes", "KiB", "MiB", "GiB", "TiB"], Double(bytes))
        let power = units.indices.last { value >= Double(1 << (10 * $0)) } ?? 0
        let tenths = Int((value / Double(1 << (10 * power)) * 10).rounded(.down))
        return tenths % 10 == 0 || power == 0
            ? "\(tenths / 10) \(units[power])" : "\(tenths / 10).\(tenths % 10) \(units[power])"
    }

    /// A time such as `90 s`, `45 min` or `12 h`.
    private static func text(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        if seconds >= 3600, seconds % 3600 == 0 { return "\(seconds / 3600) h" }
        return seconds >= 120 && seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }

    /// The error for a system call's `errno`.
    static func system(_ code: Int32, path: String) -> RecordingError {
        code == ENOSPC || code == EDQUOT || code == EFBIG
            ? .diskFull(path: path) : .writeFailed(path: path, reason: String(cString: strerror(code)))
    }
}
