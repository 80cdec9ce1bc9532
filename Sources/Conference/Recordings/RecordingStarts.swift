import Basics

/// How often recordings may be started in a room. A room that ends and comes again is the same one.
struct RecordingStarts: Sendable {
    private let perMinute: Double
    private var rooms: [String: TokenBucket] = [:]

    /// Rooms whose starts of the last minute are remembered, twenty times as many as there may be at once: beyond them
    /// a start waits a minute.
    static let maxRooms = 4096

    init(perMinute: Int) { self.perMinute = Double(max(1, perMinute)) }

    /// Counts a start; gives how long to wait where it is one too many, and then counts nothing.
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
