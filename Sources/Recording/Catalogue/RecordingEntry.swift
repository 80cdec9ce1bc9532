package import FoundationEssentials

/// What ended a recording.
package enum RecordingEnd: String, Codable, Hashable, Sendable, CaseIterable {
    /// Somebody, or the server for want of space, while the room went on.
    case stopped
    /// The end of its room.
    case room
    /// Its room went to another node, or another node has it: the next part of the series is there.
    case moved
    /// A crash: its room may have gone on at another node, where the next part of the series is.
    case lost
}

/// The metadata of a recording, in the catalogue and in the sidecar file (`<id>.json`).
package struct RecordingEntry: Codable, Hashable, Sendable {
    /// The state; `repairing` means that a crash left the recording open and that it is being closed. `repairing` is
    /// never written to a sidecar.
    package enum State: String, Codable, Sendable { case recording, paused, finished, failed, repairing }

    /// Valid in a URL and in a file name.
    package var id: String
    /// A number that increases from recording to recording of a directory, whatever the wall clock does; nil in
    /// sidecars of older versions.
    package var number: Int?
    package var room: String
    /// What somebody called it; nil: nothing.
    package var title: String?
    /// The file name of the first part in the catalogue's directory.
    package var file: String
    /// The file names of all parts.
    package var files: [String]
    /// The lengths and sizes of the complete parts, also while the recording runs; nil in sidecars of older versions.
    package var parts: [RecordingPart]?
    package var state: State
    /// Wall clock time, in whole seconds as the sidecar has it.
    package var startedAt: Date
    /// The same in seconds since 1970, to the millisecond: parts of a series are put together by it; nil in sidecars of
    /// older versions.
    package var began: Double?
    /// When it ended, in seconds since 1970; nil while it runs, and in sidecars of older versions.
    package var ended: Double?
    /// What ended it; nil as for `ended`.
    package var endedBy: RecordingEnd?
    /// When it began, as exactly as is known.
    package var beganAt: Date { began.map { Date(timeIntervalSince1970: $0) } ?? startedAt }
    package var endedAt: Date? { ended.map { Date(timeIntervalSince1970: $0) } }
    /// The seconds before `startedAt` that the recording has too; nil: none.
    package var preRoll: Double?
    /// In seconds; nil while the recording runs.
    package var duration: Double?
    package var bytes: Int?
    /// The media that was lost because of a slow disk; nil where none was.
    package var dropped: RecordingLosses?
    /// How smooth its picture is; nil in sidecars of older versions, and where it is audio alone.
    package var frames: RecordingFrames?
    /// The view whose picture it has; nil in sidecars of older versions, and where it is audio alone.
    package var view: String?
    /// Whether its file is audio alone; nil: it is not.
    package var audioOnly: Bool?
    /// The breakout group of the room that it is of; nil: the room itself.
    package var group: RecordedGroup?
    /// The files of single participants; nil: there are none.
    package var tracks: [RecordingTrack]?
    /// The id of the first recording of the series that this one goes on with, and its number there; nil: it goes on
    /// with none.
    package var series: String?
    package var seriesPart: Int?
    package var continues: RecordingSeries? { series.map { RecordingSeries(id: $0, part: seriesPart ?? 2) } }
    /// Whether a crash left the recording open and a later start closed it.
    package var wasRecovered: Bool
    /// Why the recording ended early, in a sentence.
    package var message: String?
    /// Where recordings are delivered (`recording.onFinished`): how far this one is; nil: it is not to be. While the
    /// delivery is open, its file (`<id>.pending`) counts instead of this.
    package var delivery: RecordingDelivery?

    /// The names of all files with media: the parts, and the tracks.
    package var allFiles: [String] { files + (tracks ?? []).map(\.file) }
    /// The bytes of all files.
    package var allBytes: Int { (bytes ?? 0) + (tracks ?? []).reduce(0) { $0 + ($1.bytes ?? 0) } }

    /// To the millisecond.
    package static func seconds(_ date: Date) -> Double { (date.timeIntervalSince1970 * 1000).rounded() / 1000 }

    /// An id such as `20260704-153012-kitchen-3f9a`: it sorts by time, contains the room and its breakout group, and is
    /// unique with its mark.
    static func id(room: String, group: String? = nil, at now: Date, mark: UInt16) -> String {
        let parts = Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: now)
        func digits(_ value: Int?, _ count: Int) -> String {
            let text = String(value ?? 0)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        let day = digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2)
        let time = digits(parts.hour, 2) + digits(parts.minute, 2) + digits(parts.second, 2)
        let name = slug(room) + (group.map { "-" + slug($0) } ?? "")
        return "\(day)-\(time)-\(name)-\(String(mark, radix: 16))"
    }

    /// The name with every character but letters, digits, `-` and `_` replaced by `-`, so that no path leaves the
    /// directory.
    static func slug(_ text: String) -> String {
        let safe = text.unicodeScalars.prefix(40).map { scalar -> Character in
            let isSafe =
                scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "_")
            return isSafe ? Character(scalar) : "-"
        }
        return safe.isEmpty ? "room" : String(safe)
    }
}
