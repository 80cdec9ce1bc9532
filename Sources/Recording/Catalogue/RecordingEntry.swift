public import Foundation

/// A recording as the catalogue knows it, and as its sidecar file (`<id>.json`) holds it.
public struct RecordingEntry: Codable, Hashable, Sendable {
    /// `repairing`: a crash left it open, and it is being closed. Never written into a sidecar.
    public enum State: String, Codable, Sendable { case recording, paused, finished, failed, repairing }

    /// Fit for a URL and a file name.
    public var id: String
    /// Counts up from recording to recording of a directory, whatever the wall clock does; nil in sidecars of before.
    public var number: Int?
    public var room: String
    /// The first part's name in the catalogue's directory.
    public var file: String
    /// All parts' names.
    public var files: [String]
    public var state: State
    /// Wall clock time.
    public var startedAt: Date
    /// In seconds; nil while it runs.
    public var duration: Double?
    public var bytes: Int?
    /// What a slow disk lost; nil: nothing.
    public var dropped: RecordingLosses?
    /// A crash left it open and a later start closed it.
    public var wasRecovered: Bool
    /// Why it ended early, in a sentence.
    public var message: String?

    /// e.g. `20260704-153012-kitchen-3f9a`: sorts by time, says the room, and is unique with its mark.
    static func id(room: String, at now: Date, mark: UInt16) -> String {
        let parts = Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: now)
        func digits(_ value: Int?, _ count: Int) -> String {
            let text = String(value ?? 0)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        let day = digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2)
        let time = digits(parts.hour, 2) + digits(parts.minute, 2) + digits(parts.second, 2)
        return "\(day)-\(time)-\(slug(room))-\(String(mark, radix: 16))"
    }

    /// Letters, digits, `-` and `_` of a name; everything else becomes `-`, so that no name leaves the directory.
    static func slug(_ text: String) -> String {
        let safe = text.unicodeScalars.prefix(40).map { scalar -> Character in
            let isSafe =
                scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "_")
            return isSafe ? Character(scalar) : "-"
        }
        return safe.isEmpty ? "room" : String(safe)
    }
}
