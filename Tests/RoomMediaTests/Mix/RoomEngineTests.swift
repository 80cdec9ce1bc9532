import Basics
import Codecs
import Peer
import Testing

@testable import RoomMedia

@Suite("RoomEngine")
struct RoomEngineTests {
    private let still = StillServices()
    private let format = VideoSendFormat(codec: .vp8)

    private func scene(_ room: RoomEngine, height: Int = 180, framesPerSecond: Int = 30) -> Scene {
        Scene(width: height * 16 / 9, height: height, framesPerSecond: framesPerSecond, views: [.room: Scene.View()])
    }

    private func connect(_ id: String, to room: RoomEngine) {
        room.setAudio(id, profile: .clear, receiverLimits: OpusReceiverLimits(), to: SeatID(loop: 1, number: 7))
    }

    private func disconnect(_ id: String, from room: RoomEngine) {
        room.setAudio(id, profile: .clear, receiverLimits: OpusReceiverLimits(), to: nil)
    }

    @Test("The engine runs while a participant is connected, and has views only then")
    func connected() {
        let room = still.room()
        _ = room.add("a", hearsAs: "a", requestKeyframe: {})
        _ = room.add("b", hearsAs: "b", requestKeyframe: {})
        #expect(!room.isRunning && room.allViews.isEmpty && room.loops.isEmpty)
        connect("a", to: room)
        connect("b", to: room)
        #expect(room.isRunning && room.allViews.map(\.id) == [.room] && room.loops == [1])
        disconnect("a", from: room)
        #expect(room.isRunning)
        room.remove("b")
        #expect(!room.isRunning && room.allViews.isEmpty && room.loops.isEmpty)
    }

    @Test("A participant that has left, or never came, does not start the engine")
    func strangers() {
        let room = still.room()
        connect("nobody", to: room)
        #expect(!room.isRunning)
        _ = room.add("a", hearsAs: "a", requestKeyframe: {})
        room.remove("a")
        connect("a", to: room)
        #expect(!room.isRunning)
        room.close()
        _ = room.add("b", hearsAs: "b", requestKeyframe: {})
        connect("b", to: room)
        #expect(!room.isRunning && room.allViews.isEmpty, "a closed room never starts again")
    }

    @Test("A recording keeps the engine running, and gets the mix from the next tick on")
    func recording() throws {
        let room = still.room()
        let times = Guarded<[Int64]>([])
        let rooms = AudioClock.Rooms(at: .zero)
        let taken = room.record("file", video: { _ in }, audio: { _, time in times.withLock { $0.append(time) } })
        let (key, rung) = try #require(taken)
        #expect(room.isRunning && room.isRecorded && key.codec == .h264 && rung.height == 180)
        #expect(room.rendition(key) != nil)
        for tick in 1...3 { _ = still.audio.run(rooms, at: .zero + .milliseconds(20 * tick)) }
        #expect(times.withLock { $0 } == [960, 1920, 2880])
        room.endRecording("file", key)
        #expect(!room.isRunning && !room.isRecorded && room.rendition(key) == nil)
        _ = still.audio.run(rooms, at: .zero + .milliseconds(80))
        #expect(times.withLock { $0.count } == 3)
    }

    @Test("A snapshot runs the engine for one picture of the canvas's size", .timeLimit(.minutes(1)))
    func snapshot() async {
        let room = still.room()
        let end = room.snapshot { _ in Issue.record("the snapshot was cancelled before a tick came") }
        #expect(room.isRunning)
        end()
        #expect(!room.isRunning)
        let now = Instant(nanoseconds: 1_000_000_000_000_000)
        let picture = await withCheckedContinuation { (done: CheckedContinuation<Picture, Never>) in
            _ = room.snapshot { done.resume(returning: $0) }
            _ = still.video.run(at: now)
        }
        #expect((picture.width, picture.height) == (320, 180))
    }

    @Test("Another canvas size ends all renditions, and other changes keep them")
    func reshape() throws {
        let room = still.room()
        _ = room.add("a", hearsAs: "a", requestKeyframe: {})
        connect("a", to: room)
        let key = try #require(
            room.subscribe("a", view: .room, format: format, choice: .rung(0), budget: nil, loop: 0))
        let before = try #require(room.rendition(key))
        #expect(!room.apply(scene(room)))
        #expect(room.rendition(key) === before)
        #expect(room.apply(scene(room, height: 360)))
        #expect(room.rendition(key) == nil && room.ladder.rungs.first?.height == 360)
        #expect(room.apply(scene(room, height: 360, framesPerSecond: 15)))
    }

    @Test("A rendition is shared by all its members, and ends with the last one")
    func renditions() throws {
        let room = still.room()
        _ = room.add("a", hearsAs: "a", requestKeyframe: {})
        connect("a", to: room)
        func subscribe(_ id: String, _ choice: RenditionSelector.Choice, view: ViewID = .room) -> RenditionKey? {
            room.subscribe(id, view: view, format: format, choice: choice, budget: nil, loop: 0)
        }
        let key = try #require(subscribe("a", .rung(0)))
        let rendition = try #require(room.rendition(key))
        #expect(subscribe("b", .rung(0)) == key && room.rendition(key) === rendition)
        // A member of a view that does not exist gets the room's.
        let personal = ViewID.personal(PersonalView(layout: "grid", pins: ["a"]))
        #expect(subscribe("c", .rung(0), view: personal) == key)
        #expect(subscribe("d", .audioOnly) == nil)
        for id in ["a", "b"] { room.unsubscribe(id, from: key) }
        #expect(room.rendition(key) === rendition)
        room.unsubscribe("c", from: key)
        #expect(room.rendition(key) == nil)
    }

    @Test("The room adds its load to the audio clock, and takes it away when it closes")
    func load() {
        let room = still.room()
        let empty = still.audio.load
        for id in ["a", "b", "a"] { _ = room.add(id, hearsAs: id, requestKeyframe: {}) }
        #expect(still.audio.load == empty + 8, "a participant that is added twice counts once")
        room.remove("b")
        room.remove("b")
        #expect(still.audio.load == empty + 4)
        room.close()
        room.close()
        #expect(still.audio.load == 0)
    }
}
