package import Streaming
import Threads

extension Conference {
    /// The stream of a room for players of HLS; nil where the room has none: `RoomSettings.hls` is off, or nobody has
    /// been in the room since it was turned on.
    ///
    /// - Parameters:
    ///   - request: who asks, as for a seat; the rules of joins are those of watching.
    ///   - isNew: whether the player begins. A locked room refuses new ones only.
    package func hls(_ request: AdmittedJoin, isNew: Bool) throws(ConferenceError) -> HLSStream? {
        // Who watches already does not begin to ask because a neighbour was removed.
        let request = isNew ? try registry.checkRemovals(request, at: MonotonicClock.now()) : request
        let found = try registry[request.room]?.read { slot throws(ConferenceError) -> HLSStream? in
            try slot.room.requireWatching(request, isNew: isNew)
            return slot.hls?.stream
        }
        guard let found else { throw .roomNotFound(request.room) }
        return found
    }
}
