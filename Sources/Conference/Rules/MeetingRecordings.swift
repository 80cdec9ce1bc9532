/// The recordings of a room's present meeting, for those in it who may record.
struct MeetingRecordings: Sendable {
    struct Entry: Hashable, Sendable {
        var id: String
        /// The participant who started it; nil: an administrator or the configuration.
        var startedBy: String?
    }

    /// The most recordings, the latest ones; administrators can list all.
    static let limit = 100

    /// The oldest first.
    private(set) var entries: [Entry] = []

    mutating func add(_ id: String, startedBy: String?) {
        entries.append(Entry(id: id, startedBy: startedBy))
        entries.removeFirst(max(0, entries.count - Self.limit))
    }

    /// Forgets the meeting's recordings, except those that still run.
    mutating func clear(keeping running: Set<String>) { entries.removeAll { !running.contains($0.id) } }

    /// Whether `clear` would forget something.
    func isPast(beside running: Set<String>) -> Bool { entries.contains { !running.contains($0.id) } }
}
