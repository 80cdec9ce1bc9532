/// Who was in a recording and who spoke when, in seconds of its media.
package struct RecordingTimeline: Codable, Hashable, Sendable {
    package struct Person: Codable, Hashable, Sendable {
        package var id: String
        package var name: String
        package var joined: Double
        package var left: Double
        /// When the participant was left out of the recording; nil: never.
        package var unrecorded: [Stretch]?
    }

    package struct Stretch: Codable, Hashable, Sendable {
        package var start: Double
        package var end: Double
    }

    package struct Speech: Codable, Hashable, Sendable {
        package var participant: String
        package var name: String
        package var start: Double
        package var end: Double
    }

    package struct Layout: Codable, Hashable, Sendable {
        package var at: Double
        package var name: String
    }

    package var duration: Double
    package var participants: [Person] = []
    /// In the order of their starts; two people may speak at once.
    package var speakers: [Speech] = []
    package var layouts: [Layout] = []
    package var chapters: [RecordingChapter] = []

    /// Speech of one person with pauses shorter than this is one stretch.
    private static let pause = 1.5
    /// Shorter speech is left out: a cough.
    private static let leastSpeech = 0.4

    /// - Parameters:
    ///   - events: in order.
    ///   - duration: of the recording in seconds.
    package init(_ events: [TimelineEvent], duration: Double) {
        self.duration = duration
        var present: [String: Person] = [:]
        var speech = Speeches()
        for event in events where event.at <= duration {
            let id = event.participant ?? ""
            switch event.kind {
            case .joined:
                // Who is recorded again has been in the recording all along.
                guard present[id] == nil else { break }
                present[id] = Person(id: id, name: event.name ?? "", joined: event.at, left: duration)
            case .left:
                speech.end(id, at: event.at)
                if var person = present.removeValue(forKey: id) {
                    person.left = event.at
                    person.endUnrecorded(at: event.at, openUntil: duration)
                    participants.append(person)
                }
            case .speaking: speech.begin(id, present[id]?.name ?? event.name ?? "", at: event.at, until: duration)
            case .silent: speech.end(id, at: event.at)
            case .layout:
                if layouts.last?.name != event.name { layouts.append(Layout(at: event.at, name: event.name ?? "")) }
            case .unrecorded:
                present[id]?.beginUnrecorded(at: event.at, until: duration)
            case .recorded: present[id]?.endUnrecorded(at: event.at, openUntil: duration)
            case .presenting, .notPresenting, .mark: break
            }
        }
        participants += present.values
        participants.sort { ($0.joined, $0.id) < ($1.joined, $1.id) }
        speakers = speech.all.filter { $0.end - $0.start >= Self.leastSpeech }
        chapters = RecordingChapter.chapters(of: events, duration: duration)
    }

    /// The stretches of speech in the order of their starts.
    private struct Speeches {
        var all: [Speech] = []
        /// The latest stretch of each participant, and those that have not ended.
        private var latest: [String: Int] = [:]
        private var open: Set<String> = []

        mutating func begin(_ id: String, _ name: String, at time: Double, until end: Double) {
            if open.contains(id) { return }
            open.insert(id)
            if let index = latest[id], time - all[index].end < pause {
                all[index].end = end
            } else {
                latest[id] = all.count
                all.append(Speech(participant: id, name: name, start: time, end: end))
            }
        }

        mutating func end(_ id: String, at time: Double) {
            if open.remove(id) != nil, let index = latest[id] { all[index].end = time }
        }
    }
}

extension RecordingTimeline.Person {
    fileprivate mutating func beginUnrecorded(at time: Double, until end: Double) {
        unrecorded = (unrecorded ?? []) + [RecordingTimeline.Stretch(start: time, end: end)]
    }

    /// Ends the last stretch of `unrecorded` where it is open.
    fileprivate mutating func endUnrecorded(at time: Double, openUntil end: Double) {
        guard var stretches = unrecorded, let last = stretches.indices.last, stretches[last].end == end else { return }
        stretches[last].end = time
        unrecorded = stretches
    }
}
