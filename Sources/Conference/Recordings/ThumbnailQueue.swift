import Basics
import Dispatch
import Recording

/// Makes recordings' thumbnails, one at a time, apart from what waits for the disk.
final class ThumbnailQueue: Sendable {
    /// The most that wait or are made; each takes about a tenth of a second.
    static let most = 32

    private let queue = DispatchQueue(label: "thumbnails", qos: .utility)
    private let waiting = Guarded(0)

    /// Returns the path of the file; nil where too many wait.
    func make(
        of entry: RecordingEntry, in catalogue: RecordingCatalogue
    ) async -> Result<String, RecordingError>? {
        let isTaken = waiting.withLock { waiting in
            guard waiting < Self.most else { return false }
            waiting += 1
            return true
        }
        guard isTaken else { return nil }
        return await withCheckedContinuation { continuation in
            queue.async { [waiting] in
                let made = Result { () throws(RecordingError) in
                    try RecordingThumbnail.make(of: entry, in: catalogue)
                }
                waiting.withLock { $0 -= 1 }
                continuation.resume(returning: made)
            }
        }
    }
}
