import Conference

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

/// The id of an event: the server's run, and the position in it.
struct EventID: Sendable, Equatable {
    var epoch: String
    var sequence: Int

    init(epoch: String, sequence: Int) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Reads the form of `description`; nil for any other text.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, text.utf8.count <= 64, let sequence = Int(parts[1]), sequence >= 0 else { return nil }
        self.init(epoch: String(parts[0]), sequence: sequence)
    }
}

extension EventID: CustomStringConvertible {
    var description: String { "\(epoch)-\(sequence)" }
}
