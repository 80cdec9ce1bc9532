import RoomMedia
import Streaming

/// The streams of a room to other servers. A value.
struct RoomStreams: Sendable {
    /// The most streams that are remembered after their end.
    static let limit = 16

    /// In the order of their starts.
    private(set) var running: [RoomStream] = []
    /// Those that are over, the latest last.
    private var past: [RoomStream] = []
    /// The room's audio as all of its streams take it; nil while there is none.
    private(set) var audio: AACFeed?

    var views: [ViewID] { running.map(\.view) }
    var infos: [StreamInfo] { (past + running).map(\.info) }

    func stream(_ id: String) -> RoomStream? { (running + past).first { $0.id == id } }

    mutating func add(_ stream: RoomStream, audio: AACFeed) {
        running.append(stream)
        self.audio = audio
    }

    /// Notes that a stream is over, or will be.
    mutating func end(_ id: String) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        past.append(running.remove(at: index))
        past.removeFirst(max(0, past.count - Self.limit))
        if running.isEmpty { audio = nil }
    }
}
