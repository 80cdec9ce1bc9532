import Basics

/// Limits how often recordings start in a room. A new room of the same name counts as the same room.
struct RecordingStarts: Sendable {
    private let perMinute: Double
    private var rooms: [String: TokenBucket] = [:]

    /// The most rooms whose starts of the last minute are remembered, twenty times the default limit of rooms; at this
    /// bound a start in another room has to wait a minute.
    static let maxRooms = 4096

    init(perMinute: Int) { self.perMinute = Double(max(1, perMinute)) }

    /// Counts a start and returns nil, or returns the time to wait without counting.
    mutating func take(_ room: String, at now: Instant) -> Duration? {
        if rooms.count >= Self.maxRooms, rooms[room] == nil {
            rooms = rooms.filter { !$0.value.isFull(at: now) }
            if rooms.count >= Self.maxRooms { return .seconds(60) }
        }
        var bucket = rooms[room] ?? TokenBucket(rate: perMinute / 60, size: perMinute, at: now)
        let isTaken = bucket.take(at: now)
        rooms[room] = bucket
        return isTaken ? nil : bucket.wait(at: now)
    }
}
