import Basics
import Codecs
import Mixing
import Peer
import TestSupport
import Testing
import Threads

@testable import RoomMedia

@Suite("RoomEngine")
struct RoomEngineTests {
    private let still = StillServices()
    private let format = VideoSendFormat(codec: .vp8)

    private func scene(_ room: RoomEngine, height: Int = 180, framesPerSecond: Int = 30) -> Scene {
        Scene(width: height * 16 / 9, height: height, framesPerSecond: framesPerSecond, views: [.main: Scene.View()])
    }

    private func connect(_ id: String, to room: RoomEngine) {
        room.setAudio(id, profile: .clear, receiverLimits: OpusReceiverLimits(), to: PeerID(loop: 1, number: 7))
    }

    private func disconnect(_ id: String, from room: RoomEngine) {
        room.setAudio(id, profile: .clear, receiverLimits: OpusReceiverLimits(), to: nil)
    }

    @Test("The engine runs while a participant is connected, and has views only then")
    func connected() {
        let room = still.room()
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        _ = room.add("b", hearsAs: "b", requestKeyframe: { _ in })
        #expect(!room.isRunning && room.allViews.isEmpty && room.loops.isEmpty)
        connect("a", to: room)
        connect("b", to: room)
        #expect(room.isRunning && room.allViews.map(\.id) == [.main] && room.loops == [1])
        disconnect("a", from: room)
        #expect(room.isRunning)
        room.remove("b")
        #expect(!room.isRunning && room.allViews.isEmpty && room.loops.isEmpty)
    }

    @Test("A screen beside the camera has a tile of its own, with its participant's id")
    func screens() throws {
        let told = Guarded<[TilesInfo]>([])
        let room = still.room { _, tiles in told.withLock { $0.append(tiles) } }
        var scene = scene(room)
        scene.views[.main]?.layout = LayoutLibrary.builtIn["presentation"]
        for (order, id) in ["a", "b", PictureID.screen(of: "a")].enumerated() {
            var person = Scene.Person(
                id: id, name: id, isShown: true, sendsVideo: true, sendsAudio: true, isMuted: false, hand: false,
                isPresenting: order == 2, isPinned: false, joinOrder: order, gain: 1, hearsAs: id)
            if order == 2 { (person.sender, person.source) = ("a", .screen) }
            scene.people.append(person)
        }
        room.apply(scene)
        let tiles = try #require(told.withLock { $0.last }).tiles
        #expect(tiles.map(\.participant).sorted() == ["a", "a", "b"])
        let largest = try #require(tiles.max { $0.width < $1.width })
        #expect(largest.participant == "a" && largest.isScreen && largest.picture == "a/screen")
        #expect(tiles.filter(\.isScreen).count == 1)
    }

    @Test("A participant that has left, or never came, does not start the engine")
    func strangers() {
        let room = still.room()
        connect("nobody", to: room)
        #expect(!room.isRunning)
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        room.remove("a")
        connect("a", to: room)
        #expect(!room.isRunning)
        room.close()
        _ = room.add("b", hearsAs: "b", requestKeyframe: { _ in })
        connect("b", to: room)
        #expect(!room.isRunning && room.allViews.isEmpty, "a closed room never starts again")
    }

    @Test("A recording keeps the engine running, and gets the mix from the next tick on")
    func recording() throws {
        let room = still.room()
        let times = Guarded<[Int64]>([])
        let rooms = AudioClock.Rooms(at: .zero)
        let file = room.tap("file", video: { _ in }, audio: { _, time in times.withLock { $0.append(time) } })
        let taken = try #require(file.rendition)
        #expect(room.isRunning && room.recorded == [.main] && taken.key.codec == .h264 && taken.rung.height == 180)
        for tick in 1...3 { _ = still.audio.run(rooms, at: .zero + .milliseconds(20 * tick)) }
        #expect(times.withLock { $0 } == [960, 1920, 2880])
        // A second tap takes the same encode and the same mix, and outlasts the first.
        let more = Guarded<[Int64]>([])
        let kept = room.tap("kept", video: { _ in }, audio: { _, time in more.withLock { $0.append(time) } })
        #expect(kept.rendition === taken && taken.memberCount == 2)
        file.end()
        #expect(room.isRunning && room.recorded == [.main] && kept.rendition === taken && file.rendition == nil)
        _ = still.audio.run(rooms, at: .zero + .milliseconds(80))
        #expect(times.withLock { $0.count } == 3 && more.withLock { $0 } == [3840])
        kept.end()
        #expect(!room.isRunning && room.recorded.isEmpty && room.rendition(taken.key) == nil)
        _ = still.audio.run(rooms, at: .zero + .milliseconds(100))
        #expect(times.withLock { $0.count } == 3 && more.withLock { $0.count } == 1)
    }

    @Test("A snapshot runs the engine for one picture of the canvas's size", .timeLimit(.minutes(1)))
    func snapshot() async throws {
        let room = still.room()
        still.withoutPictures {
            let end = room.snapshot { _ in Issue.record("the snapshot was cancelled before a tick came") }
            #expect(room.isRunning)
            end()
            #expect(!room.isRunning)
        }
        let taken = Guarded<Picture?>(nil)
        _ = room.snapshot { picture in taken.withLock { $0 = picture } }
        // A tick while another is composed is left out.
        var now = Instant(nanoseconds: 1_000_000_000_000_000)
        let isTaken = await eventually {
            now = now + .milliseconds(33)
            _ = still.video.run(at: now)
            return taken.withLock { $0 != nil }
        }
        let picture = try #require(isTaken ? taken.withLock { $0 } : nil)
        #expect((picture.width, picture.height) == (320, 180))
    }

    @Test("Another canvas size ends all renditions, and other changes keep them")
    func reshape() throws {
        let room = still.room()
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        connect("a", to: room)
        let key = try #require(
            room.subscribe("a", view: .main, format: format, kind: .rung(0), budget: nil, loop: 0))
        let before = try #require(room.rendition(key))
        #expect(!room.apply(scene(room)))
        #expect(room.rendition(key) === before)
        #expect(room.apply(scene(room, height: 360)))
        #expect(room.rendition(key) == nil && room.ladder(of: .main).rungs.first?.height == 360)
        #expect(room.apply(scene(room, height: 360, framesPerSecond: 15)))
    }

    @Test("A rendition is shared by all its members, and ends with the last one")
    func renditions() throws {
        let room = still.room()
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        connect("a", to: room)
        func subscribe(_ id: String, _ kind: RenditionKind, view: ViewID = .main) -> RenditionKey? {
            room.subscribe(id, view: view, format: format, kind: kind, budget: nil, loop: 0)
        }
        let key = try #require(subscribe("a", .rung(0)))
        let rendition = try #require(room.rendition(key))
        #expect(subscribe("b", .rung(0)) == key && room.rendition(key) === rendition)
        let choice = ViewID("main", choice: ViewChoice(layout: "grid", pins: ["a"]))
        #expect(subscribe("c", .rung(0), view: choice) == nil, "the room does not make that view")
        #expect(subscribe("c", .rung(0)) == key)
        for id in ["a", "b"] { room.unsubscribe(id, from: key) }
        #expect(room.rendition(key) === rendition)
        room.unsubscribe("c", from: key)
        #expect(room.rendition(key) == nil)
    }

    @Test("Views in use are made, each with its own canvas, rate and ladder; others are arranged only")
    func views() throws {
        let room = still.room()
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        connect("a", to: room)
        let small = [RoomMediaConfiguration.Rung(height: 90, bitRate: .kilobits(50))]
        let upright = ViewID("portrait")
        var changed = scene(room)
        changed.views[.main]?.isUsed = false
        changed.views[upright] = Scene.View(
            format: ViewFormat(width: 180, height: 320, framesPerSecond: 15, rungs: small))
        changed.viewOf = ["a": upright]
        #expect(room.apply(changed), "everyone chooses again, since a view ended")
        #expect(room.allViews.map(\.id) == [upright] && room.view(of: "a") == upright)
        #expect(room.ladder(of: upright).rungs.map(\.width) == [180, 90])
        #expect(room.subscribe("a", view: .main, format: format, kind: .rung(0), budget: nil, loop: 0) == nil)
        let key = try #require(
            room.subscribe("a", view: upright, format: format, kind: .rung(0), budget: nil, loop: 0))
        let rung = try #require(room.rendition(key)?.rung)
        #expect((rung.width, rung.height, rung.framesPerSecond) == (180, 320, 15))
        // The other view comes back beside this one, which goes on.
        changed.views[.main]?.isUsed = true
        #expect(!room.apply(changed))
        #expect(room.allViews.count == 2 && room.rendition(key) != nil)
        changed.views[upright] = nil
        #expect(room.apply(changed) && room.allViews.map(\.id) == [.main] && room.rendition(key) == nil)
    }

    @Test("A recording takes the view that it names, whose peers keep the top rung in an overload")
    func recordedView() throws {
        let room = still.room()
        var changed = scene(room)
        let cinema = ViewID("recording")
        changed.views[cinema] = Scene.View(format: ViewFormat(width: 640, height: 360, framesPerSecond: 25))
        changed.views[.main]?.isUsed = false
        room.apply(changed)
        let file = room.tap("file", cinema, video: { _ in }, audio: { _, _ in })
        let taken = try #require(file.rendition)
        #expect(taken.rung.height == 360 && taken.key.view == cinema && room.recorded == [cinema])
        // The view in another format, and none any more: the tap follows.
        changed.views[cinema] = Scene.View(format: ViewFormat(width: 320, height: 180, framesPerSecond: 25))
        room.apply(changed)
        #expect(file.rendition?.rung.height == 180)
        changed.views[cinema] = nil
        room.apply(changed)
        #expect(file.rendition == nil && room.recorded == [cinema] && room.isRunning)
        file.end()
        #expect(room.recorded.isEmpty)
    }

    @Test("While a screen is shared, peers choose again, and below the top they get its full size with few frames")
    func sharedScreen() throws {
        let room = still.room()
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        connect("a", to: room)
        var changed = scene(room, height: 720)
        changed.people = [
            Scene.Person(
                id: "a", name: "a", isShown: true, sendsVideo: true, sendsAudio: true, isMuted: false, hand: false,
                isPresenting: false, isPinned: false, joinOrder: 0, gain: 1, hearsAs: "a")
        ]
        room.apply(changed)
        #expect(!room.apply(changed) && !room.hasScreen())
        changed.people[0].isPresenting = true
        #expect(room.apply(changed) && room.hasScreen())
        let kind = try #require(room.ladder(of: .main).kind(of: .rung(1), hasScreen: room.hasScreen()))
        let key = try #require(room.subscribe("a", view: .main, format: format, kind: kind, budget: nil, loop: 0))
        let rung = try #require(room.rendition(key)?.rung)
        #expect((rung.height, rung.framesPerSecond, rung.bitRate) == (720, 7, .kilobits(450)))
        changed.people[0].sendsVideo = false
        #expect(room.apply(changed) && !room.hasScreen())
    }

    @Test("Tiles are arranged on their view's canvas, and names are as the view says")
    func arranged() throws {
        let layout = try #require(LayoutLibrary(directory: "")["grid"])
        var scene = Scene(width: 320, height: 180, framesPerSecond: 30, views: [.main: Scene.View(layout: layout)])
        for id in ["a", "b"] {
            scene.people.append(
                Scene.Person(
                    id: id, name: id, isShown: true, sendsVideo: true, sendsAudio: true, isMuted: false, hand: false,
                    isPresenting: false, isPinned: false, joinOrder: 0, gain: 1, hearsAs: id))
        }
        let upright = ViewID("portrait")
        scene.views[upright] = Scene.View(
            layout: layout, format: ViewFormat(width: 180, height: 320, framesPerSecond: 30), names: false)
        var arrangements = [Arrangement(of: .main), Arrangement(of: upright)]
        for index in arrangements.indices { #expect(arrangements[index].follow(scene) { _ in 16.0 / 9 }) }
        #expect(
            arrangements[0].arranged.tiles.allSatisfy { $0.showsName }
                && !arrangements[1].arranged.tiles.contains { $0.showsName })
        #expect(
            arrangements[0].arranged.tiles.map(\.y).max() == arrangements[0].arranged.tiles.map(\.y).min(),
            "beside one another")
        #expect(
            arrangements[1].arranged.tiles.map(\.x).max() == arrangements[1].arranged.tiles.map(\.x).min(),
            "one above the other")
        scene.views[upright]?.names = true
        #expect(
            arrangements[1].follow(scene) { _ in 16.0 / 9 }
                && arrangements[1].arranged.tiles.allSatisfy { $0.showsName })
    }

    @Test("The room adds its load to the audio clock, and takes it away when it closes")
    func load() {
        let room = still.room()
        let empty = still.audio.load
        for id in ["a", "b", "a"] { _ = room.add(id, hearsAs: id, requestKeyframe: { _ in }) }
        #expect(still.audio.load == empty + 8, "a participant that is added twice counts once")
        room.remove("b")
        room.remove("b")
        #expect(still.audio.load == empty + 4)
        room.close()
        room.close()
        #expect(still.audio.load == 0)
    }
}
