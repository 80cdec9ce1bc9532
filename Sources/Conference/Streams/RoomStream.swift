import Basics
import FoundationEssentials
import RoomMedia
import Streaming
import Threads

/// One stream of one room to another server: a tap of the room, and the writer that sends what it gives.
final class RoomStream: Sendable {
    let id: String
    let room: String
    let view: ViewID
    /// Of its server and path; two streams to one place would end each other.
    let url: MediaURL
    /// As it was asked for, with the URL's credentials.
    let request: StreamRequest
    let startedAt = MonotonicClock.now()
    private let needs: TapNeeds
    private let audio: AACFeed
    private let writer: StreamWriter
    private let base: StreamInfo
    private let tap: Guarded<RoomTap?>
    private let told = Guarded<StreamState?>(nil)

    /// - Parameter onState: called with each new state, in order, on the writer's thread.
    init(
        _ info: StreamInfo, _ request: StreamRequest, to target: StreamTarget, needs: TapNeeds, audio: AACFeed,
        onState: @escaping @Sendable (StreamState) -> Void
    ) {
        id = info.id
        room = info.room
        view = ViewID(info.view)
        url = target.url
        self.request = request
        base = info
        self.needs = needs
        self.audio = audio
        let tap = Guarded<RoomTap?>(nil)
        self.tap = tap
        writer = StreamWriter(
            to: target, audioConfiguration: audio.configuration,
            onKeyframeNeeded: { tap.withLock { $0 }?.requestKeyframe(isUrgent: true) }, onState: onState)
    }

    var info: StreamInfo { info(in: writer.currentState) }

    func info(in state: StreamState) -> StreamInfo {
        var info = base
        (info.state, info.bytes, info.dropped) = (state, writer.bytesSent, writer.framesDropped)
        return info
    }

    /// Whether a state is of another kind than the last one that this was asked of.
    func hasStateChanged(_ state: StreamState) -> Bool {
        told.withLock { told in
            defer { told = state }
            return switch (told, state) {
            case (.retrying, .retrying), (.live, .live): false
            default: true
            }
        }
    }

    /// Takes the room's output and begins to connect. The scene of `engine` uses the view already. Returns false where
    /// the system has no thread for it.
    func begin(with engine: RoomEngine) -> Bool {
        let (writer, audio) = (writer, audio)
        audio.add(id) { writer.append($0) }
        let taken = engine.tap(
            "stream-\(id)", view, needs: needs, video: { writer.append($0) },
            audio: { audio.append($0, timestamp: $1) })
        tap.withLock { $0 = taken }
        if writer.start() { return true }
        detach()
        return false
    }

    /// Takes the room's output no longer.
    func detach() {
        audio.remove(id)
        let ended = tap.withLock { tap in
            defer { tap = nil }
            return tap
        }
        ended?.end()
    }

    /// Ends the stream, and returns when its connection is closed, after two seconds at the most.
    func end() async {
        await writer.end()
        detach()
    }

    /// The same without waiting, for rooms that end.
    func finish() { Task { await end() } }
}
