/// The last events of all nodes that a reader has: their ids, joined by commas.
package struct EventCursor: Sendable, Equatable, CustomStringConvertible {
    /// The positions by the nodes' runs (`EventID.epoch`), the latest known run last.
    package private(set) var ids: [EventID] = []

    /// A reader of a cluster of this many nodes has no more; the oldest runs go first.
    private static let maxIDs = 64

    package init() {}

    /// Reads the form of `description`. What is no id is left out.
    package init(_ text: String) {
        for part in text.split(separator: ",").suffix(Self.maxIDs) {
            if let id = EventID(String(part.drop { $0 == " " })) { note(id) }
        }
    }

    package var description: String { ids.map(\.description).joined(separator: ",") }

    package mutating func note(_ id: EventID) {
        if let place = ids.firstIndex(where: { $0.epoch == id.epoch }) {
            ids[place] = id
        } else {
            ids.append(id)
            if ids.count > Self.maxIDs { ids.removeFirst() }
        }
    }

    /// The position in one node's run.
    package func id(in epoch: String) -> EventID? { ids.first { $0.epoch == epoch } }
}
