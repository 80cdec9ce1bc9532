/// A chapter of a recording, from `at` to the next one.
package struct RecordingChapter: Codable, Hashable, Sendable {
    /// Seconds in the recording's media, or in the file of a part.
    package var at: Double
    package var title: String
    /// Whether somebody set it; others follow from what happened.
    package var isMark: Bool

    /// Events within this time are one chapter.
    private static let together = 1.0
    /// The most chapters of a recording, beyond which only marks are added, and at twice as many none.
    static let most = 1000
    /// The longest title in bytes (the length of a `chpl` entry is one byte).
    private static let longestTitle = 250

    /// The chapters that follow from joins, leaves, presentations and marks. The first one begins the recording.
    ///
    /// They go along with the file. Who refused to be recorded at any time is not named in them: that one joined before,
    /// say, is “A participant joined”.
    static func chapters(of events: [TimelineEvent], duration: Double) -> [RecordingChapter] {
        var chapters = [RecordingChapter(at: 0, title: "", isMark: false)]
        var names: [String: String] = [:]
        let refused = Set(events.lazy.filter { $0.kind == .unrecorded }.compactMap(\.participant))
        for event in events where event.at <= duration {
            if event.kind == .joined, let id = event.participant { names[id] = event.name }
            // Nothing that follows concerns the recording, until the participant joins it again.
            if event.kind == .unrecorded, let id = event.participant { names[id] = nil }
            guard let title = title(event, names, refused) else { continue }
            let isMark = event.kind == .mark
            let last = chapters.count - 1
            if !isMark, !chapters[last].isMark, event.at - chapters[last].at < together {
                let both = [chapters[last].title, title].filter { !$0.isEmpty }.joined(separator: ", ")
                if both.utf8.count <= longestTitle { chapters[last].title = both }
            } else if chapters.count < most || isMark && chapters.count < 2 * most {
                chapters.append(RecordingChapter(at: event.at, title: cut(title), isMark: isMark))
            }
        }
        if chapters[0].title.isEmpty { chapters[0].title = "Start" }
        return chapters
    }

    private static func title(
        _ event: TimelineEvent, _ names: [String: String], _ refused: Set<String>
    ) -> String? {
        var name = event.participant.flatMap { names[$0] } ?? event.name ?? ""
        if !name.isEmpty, event.participant.map({ refused.contains($0) }) == true { name = "A participant" }
        return switch event.kind {
        // Who was there at the start has not joined the recording.
        case .joined: event.at > 0 ? "\(name) joined" : nil
        case .left: name.isEmpty ? nil : "\(name) left"
        case .presenting: name.isEmpty ? nil : "\(name) presents"
        case .notPresenting: name.isEmpty ? nil : "\(name) stopped presenting"
        case .mark: event.name ?? ""
        case .speaking, .silent, .unrecorded, .recorded, .layout: nil
        }
    }

    private static func cut(_ title: String) -> String {
        var title = title
        while title.utf8.count > longestTitle { title.removeLast() }
        return title
    }

    /// The chapters from the start of a part on, with times in its file.
    static func part(of chapters: [RecordingChapter], from start: Double) -> [RecordingChapter] {
        let before = chapters.last { $0.at <= start }.map {
            RecordingChapter(at: 0, title: $0.title, isMark: $0.isMark)
        }
        let inside = chapters.filter { $0.at > start }.map {
            RecordingChapter(at: $0.at - start, title: $0.title, isMark: $0.isMark)
        }
        return (before.map { [$0] } ?? []) + inside
    }
}
