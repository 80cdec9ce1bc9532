import FoundationEssentials

/// The participants of the room as the server reports them: first the whole list, then the changes. Of other viewers
/// only their number is reported.
struct RoomPeople: Equatable, Sendable {
    struct Person: Equatable, Sendable {
        var id: String
        var name: String
        /// What it says to send, and the server does not get: `audio`, `video`.
        var missing: [String]

        init?(_ object: Any) {
            guard let members = object as? [String: Any], let id = members["id"] as? String else { return nil }
            self.id = id
            name = members["name"] as? String ?? id
            missing = (members["missing"] as? [Any] ?? []).compactMap { $0 as? String }
        }

        static func list(_ objects: Any?) -> [Person] { (objects as? [Any] ?? []).compactMap { Person($0) } }
    }

    /// A message about the participants.
    enum Update: Equatable, Sendable {
        /// The messages `joined` and `participants`.
        case whole([Person], viewers: Int)
        /// The message `participantsChanged`.
        case changes(joined: [Person], changed: [Person], left: [String], viewers: Int)

        init?(_ object: [String: Any]) {
            let viewers = object["viewers"] as? Int ?? 0
            switch object["type"] as? String {
            case "joined", "participants": self = .whole(Person.list(object["participants"]), viewers: viewers)
            case "participantsChanged":
                self = .changes(
                    joined: Person.list(object["joined"]), changed: Person.list(object["changed"]),
                    left: object["left"] as? [String] ?? [], viewers: viewers)
            default: return nil
            }
        }
    }

    /// The id of the receiving participant, who is not reported to itself.
    var own: String
    private(set) var people: [Person] = []
    private(set) var viewers = 0

    init(own: String) { self.own = own }

    /// Applies an update, and returns a line for each participant who joined or left.
    mutating func apply(_ update: Update) -> [String] {
        let before = self
        switch update {
        case .whole(let people, let viewers): (self.people, self.viewers) = (people, viewers)
        case .changes(let joined, let changed, let left, let viewers):
            people.removeAll { left.contains($0.id) }
            for person in changed {
                if let index = people.firstIndex(where: { $0.id == person.id }) { people[index] = person }
            }
            people += joined
            self.viewers = viewers
        }
        let (old, new) = (Set(before.people.map(\.id)), Set(people.map(\.id)))
        var words = people.filter { $0.id != own && !old.contains($0.id) }.map { "\($0.name) is here" }
        words += before.people.filter { $0.id != own && !new.contains($0.id) }.map { "\($0.name) is gone" }
        if viewers != before.viewers { words.append(viewers == 1 ? "1 viewer" : "\(viewers) viewers") }
        return words
    }

    /// What the receiving participant sends and the server does not get.
    private var missing: [String] { people.first { $0.id == own }?.missing ?? [] }

    /// A line for each kind of the participant's own media that the server does not get any more, or gets again.
    func missing(since before: RoomPeople?) -> [String] {
        let (old, new) = (before?.missing ?? [], missing)
        return new.filter { !old.contains($0) }.map { "the server gets no \($0) from here" }
            + old.filter { !new.contains($0) }.map { "the server gets \($0) from here again" }
    }
}
