import FoundationEssentials
import Glibc

/// The file of a recording's events (`<id>.events`), one line of JSON each, so that a crash loses at most the last
/// ones.
///
/// Not Sendable: confined to the recorder's queue. The recording does not depend on it: where the disk does not accept a
/// line, the events from there on are kept in memory only.
final class TimelineLog {
    static let suffix = ".events"

    private(set) var events: [TimelineEvent] = []
    private let path: String
    private let disk: RecordingDisk
    private var sink: FileSink?
    private var hasFailed = false
    private let encoder = JSONEncoder()

    /// Speech beyond this many events is left out, and at `most` all others: some days of a lively meeting.
    private static let mostOfSpeech = 100_000
    private static let most = 120_000
    /// The largest file that is read.
    private static let maxSize = 64 << 20

    init(path: String, disk: RecordingDisk) {
        self.path = path
        self.disk = disk
    }

    func append(_ event: TimelineEvent) {
        let isSpeech = event.kind == .speaking || event.kind == .silent
        guard events.count < (isSpeech ? Self.mostOfSpeech : Self.most) else { return }
        events.append(event)
        guard !hasFailed, let line = try? encoder.encode(event) else { return }
        do throws(RecordingError) {
            if sink == nil { sink = try FileSink(path: path, disk: disk) }
            let isWritten = (Array(line) + [0x0A]).withUnsafeBytes { sink?.write($0) ?? false }
            hasFailed = !isWritten
        } catch {
            hasFailed = true
        }
    }

    /// Removes the file, whose events are in the timeline now.
    func remove() {
        sink?.finish()
        sink = nil
        unlink(path)
    }

    /// The whole lines of a file that a crash left; empty where there is none.
    static func read(_ path: String) -> [TimelineEvent] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        let size = min(SystemFile.size(descriptor), maxSize)
        guard let bytes = SystemFile.read(descriptor, size, at: 0) else { return [] }
        let decoder = JSONDecoder()
        return bytes.split(separator: 0x0A).prefix(most).compactMap {
            try? decoder.decode(TimelineEvent.self, from: Data($0))
        }
    }
}
