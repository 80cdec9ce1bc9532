import Conference
import WebServer

/// Which events a reader gets.
struct EventFilter: Sendable, Equatable {
    /// nil: all rooms.
    var room: String?
    var kinds = ServerEvent.Kind.standard

    /// - Parameter types: names of types with commas between; `participant.*` for all that begin so. nil: the standard
    ///   ones.
    /// - Throws: 400 for a name that no type has.
    init(room: String?, types: String?) throws(APIError) {
        self.room = room
        guard let types else { return }
        kinds = []
        for name in types.split(separator: ",") {
            let found = ServerEvent.Kind.named(name)
            if found.isEmpty {
                throw .badRequest("types: there is no “\(name.prefix(64))”; there are \(ServerEvent.Kind.names)")
            }
            kinds.formUnion(found)
        }
    }

    func passes(_ event: ServerEvent) -> Bool {
        kinds.contains(event.happening.kind) && (room == nil || event.room == room)
    }
}
