import Conference
package import WebServer

/// Where a recording stands in the list of all nodes: behind those that began later.
package struct RecordingPlace: Sendable, Comparable, CustomStringConvertible {
    /// As in JSON, in whole seconds: such texts sort as their times do.
    package var startedAt: String
    package var id: String

    /// The queries between nodes. `behind=TIME~ID`: only recordings behind this place, in the order of places;
    /// `single=ID`: only this one.
    package static let query = "behind"
    package static let single = "single"
    package static let newest = RecordingPlace(startedAt: "9999", id: "")

    package init(startedAt: String, id: String) {
        self.startedAt = startedAt
        self.id = id
    }

    package init(_ item: JSONValue) {
        self.init(startedAt: Self.text(item, "startedAt"), id: Self.text(item, "id"))
    }

    private static func text(_ item: JSONValue, _ key: String) -> String {
        if case .string(let text)? = item[key] { text } else { "" }
    }

    package init?(_ text: String) {
        guard let mark = text.firstIndex(of: "~") else { return nil }
        self.init(startedAt: String(text[..<mark]), id: String(text[text.index(after: mark)...]))
    }

    package var description: String { startedAt + "~" + id }

    package static func < (first: RecordingPlace, second: RecordingPlace) -> Bool {
        (first.startedAt, first.id) < (second.startedAt, second.id)
    }

    /// The recordings of this node behind the place, the newest first.
    ///
    /// - Parameter page: the recordings that began before one of this node (nil: all), the newest first.
    package func page(limit: Int, _ page: (_ before: String?) -> [JSONValue]) -> [JSONValue] {
        var found: [JSONValue] = []
        var last: String?
        while true {
            let items = page(last)
            // One more second than asked for is whole, so that its order by id is right.
            guard let next = items.first else { break }
            if found.count >= limit, RecordingPlace(next).startedAt < RecordingPlace(found[found.count - 1]).startedAt {
                break
            }
            found += items.filter { RecordingPlace($0) < self }
            last = items.last.map { RecordingPlace($0).id }
        }
        return Array(found.sorted { RecordingPlace($0) > RecordingPlace($1) }.prefix(limit))
    }
}

extension ConferenceRecordings {
    /// The part of this node in a list of all nodes; nil where the request asks for no such part.
    package func recordings(forNode asked: RouteRequest, limit: Int) throws(APIError) -> [JSONValue]? {
        if let id = asked.query(RecordingPlace.single) { return recording(id).map { [$0.jsonForReaders] } ?? [] }
        guard let text = asked.query(RecordingPlace.query) else { return nil }
        guard let place = RecordingPlace(text) else { throw .badRequest("behind: TIME~ID") }
        return place.page(limit: limit) { before in
            list(before: before, limit: RecordingService.usualNumber).map(\.jsonForReaders)
        }
    }
}
