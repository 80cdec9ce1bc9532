import Basics
import Recording
import Threads

/// Makes recordings' thumbnails, one at a time, apart from what else waits for the disk.
final class ThumbnailQueue: Sendable {
    /// Each takes about a tenth of a second.
    let lane = DiskLane("thumbnails", most: 32, limit: .seconds(10))

    /// Returns the path of the file.
    func make(
        of entry: RecordingEntry, in catalogue: RecordingCatalogue
    ) async throws(DiskLane.Refusal) -> Result<String, RecordingError> {
        try await lane.run {
            Result { () throws(RecordingError) in try RecordingThumbnail.make(of: entry, in: catalogue) }
        }
    }
}
