/// Chooses the rooms that have series of their own in the metrics: the busiest, with as little change as possible, since
/// each change ends and begins series.
///
/// A room keeps its place until it ends, or until a room without a place has more than twice as many people. A room
/// that nobody has been in since the start of its place gets none.
struct BusiestRooms: Sendable {
    private let limit: Int
    private var chosen: Set<String> = []

    /// - Parameter limit: the most rooms; 0: none.
    init(limit: Int) { self.limit = limit }

    /// Chooses among the rooms that exist.
    ///
    /// - Parameter people: how many there are in each room.
    mutating func choose(among people: [String: Int]) -> Set<String> {
        chosen.formIntersection(people.keys)
        let others = people.filter { $0.value > 0 && !chosen.contains($0.key) }
        // By name where they are equal, so that the choice does not depend on the order of a dictionary.
        for (room, count) in others.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            if chosen.count < limit {
                chosen.insert(room)
                continue
            }
            let places = chosen.map { (people: people[$0] ?? 0, room: $0) }
            guard let least = places.min(by: { ($0.people, $1.room) < ($1.people, $0.room) }), count > 2 * least.people
            else { break }
            chosen.remove(least.room)
            chosen.insert(room)
        }
        return chosen
    }
}
