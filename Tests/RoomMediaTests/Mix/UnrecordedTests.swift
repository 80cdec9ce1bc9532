import Basics
import Codecs
import Mixing
import Peer
import TestSupport
import Testing
import Threads

@testable import RoomMedia

@Suite("Participants who are not recorded")
struct UnrecordedTests {
    private final class Tape: Sendable {
        private let kept = Guarded<[EncodedVideoFrame]>([])
        func append(_ frame: EncodedVideoFrame) { kept.withLock { $0.append(frame) } }
        var frames: [EncodedVideoFrame] { kept.withLock { $0 } }
    }

    private let still = StillServices()

    private func person(_ id: String, _ order: Int = 0, isRecorded: Bool = true) -> Scene.Person {
        var person = Scene.Person(
            id: id, name: id, isShown: true, sendsVideo: true, sendsAudio: true, isMuted: true, hand: false,
            isPresenting: false, isPinned: false, joinOrder: order, gain: 1, hearsAs: id)
        person.isRecorded = isRecorded
        return person
    }

    private func scene(unrecorded: Set<String> = [], _ ids: [String] = ["a", "b"]) -> Scene {
        var scene = Scene(
            width: 320, height: 180, framesPerSecond: 30,
            views: [.main: Scene.View(layout: LayoutLibrary.builtIn["grid"])])
        scene.people = ids.enumerated().map { person($1, $0, isRecorded: !unrecorded.contains($1)) }
        return scene
    }

    private func renditions(_ room: RoomEngine) -> [RenditionKey] {
        room.allViews.flatMap(\.allRenditions).map(\.key)
    }

    // MARK: - The scene

    @Test("The scene that leaves the room has an avatar without voice and screen, and another speaker")
    func outgoing() throws {
        var scene = scene(unrecorded: ["b"], ["a", "b", "c"])
        var screen = person(PictureID.screen(of: "b"), isRecorded: false)
        (screen.sender, screen.source, screen.isPresenting) = ("b", .screen, true)
        scene.people.append(screen)
        (scene.speech.speakers[.main], scene.speech.speaking) = ("b", ["a", "b"])
        (scene.speech.ranks, scene.speech.loudnessRanks) = (["b": 0, "c": 1, "a": 2], ["b": 0, "a": 1])
        let view = ViewID.main.outgoing(3)
        let out = scene.outgoing(3)
        #expect(Array(out.views.keys) == [view] && out.format(of: view) == scene.format(of: .main))
        #expect(out.people.map(\.id) == ["a", "b", "c"] && out.speech.speakers[.main] == "c")
        #expect(out.speech.ranks == ["c": 1, "a": 2] && out.speech.loudnessRanks == ["a": 1])
        let left = try #require(out.people.first { $0.id == "b" })
        #expect(!left.sendsVideo && !left.sendsAudio && !left.isMuted && !left.isPresenting)
        #expect(out.people[0].sendsVideo && out.speech.speaking == ["a"])
        #expect(view.inRoom == .main && view != .main && view != ViewID.main.outgoing(4))
    }

    @Test("Only who was recorded before is left out more than before")
    func more() {
        let all = scene()
        #expect(!all.hasUnrecorded && scene(unrecorded: ["b"]).hasUnrecorded)
        #expect(scene(unrecorded: ["b"]).leavesOut(moreThan: all))
        #expect(!scene(unrecorded: ["b"]).leavesOut(moreThan: scene(unrecorded: ["a", "b"])))
        #expect(!scene(unrecorded: ["c"], ["a", "b", "c"]).leavesOut(moreThan: all), "has just joined")
        var viewer = scene(unrecorded: ["b"])
        viewer.people[1].isShown = false
        #expect(!viewer.hasUnrecorded, "is neither seen nor heard")
    }

    // MARK: - One more encode, one more mix

    @Test("There is one more picture and encode only while somebody is not recorded and a tap takes the view")
    func encodes() throws {
        let room = still.room()
        room.apply(scene())
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        room.setAudio("a", profile: .clear, receiverLimits: OpusReceiverLimits(), to: PeerID(loop: 1, number: 7))
        let format = VideoSendFormat(codec: .h264)
        let key = try #require(
            room.subscribe("a", view: .main, format: format, kind: .rung(0), budget: nil, loop: 1))
        room.apply(scene(unrecorded: ["b"]))
        #expect(room.allViews.map(\.id) == [.main] && renditions(room) == [key], "nobody takes the output")
        let file = room.tap("file", video: { _ in }, audio: { _, _ in })
        let taken = try #require(file.rendition)
        #expect(Set(renditions(room)) == [key, taken.key] && taken.key.view == ViewID.main.outgoing(1))
        #expect(room.recorded.isEmpty, "participants' top rung does not run for the tap")
        let kept = room.tap("kept", video: { _ in }, audio: { _, _ in })
        #expect(kept.rendition === taken && taken.memberCount == 2 && renditions(room).count == 2)
        // One more who joins like this changes nothing, and one who asks for it begins a new picture.
        room.apply(scene(unrecorded: ["b", "c"], ["a", "b", "c"]))
        #expect(file.rendition === taken)
        room.apply(scene(unrecorded: ["a", "b", "c"], ["a", "b", "c"]))
        let next = try #require(file.rendition)
        #expect(next.key.view == ViewID.main.outgoing(2) && kept.rendition === next)
        #expect(Set(renditions(room)) == [key, next.key] && room.allViews.count == 2)
        file.end()
        #expect(renditions(room).count == 2)
        kept.end()
        #expect(room.allViews.map(\.id) == [.main] && renditions(room) == [key])
    }

    @Test("A view that changes its size takes the picture that leaves the room with it")
    func reshape() throws {
        let room = still.room()
        room.apply(scene(unrecorded: ["b"]))
        let file = room.tap("file", video: { _ in }, audio: { _, _ in })
        #expect(file.rendition?.rung.height == 180)
        var larger = scene(unrecorded: ["b"])
        (larger.width, larger.height) = (640, 360)
        #expect(room.apply(larger))
        #expect(file.rendition?.rung.height == 360 && file.rendition?.key.view.cut != nil && room.allViews.count == 2)
        larger.views[.main]?.isUsed = false
        room.apply(larger)
        #expect(file.rendition == nil && room.allViews.isEmpty)
    }

    @Test("A flag that flaps makes one picture at a time")
    func flapping() {
        let room = still.room()
        room.apply(scene())
        let file = room.tap("file", video: { _ in }, audio: { _, _ in })
        for _ in 0..<100 {
            room.apply(scene(unrecorded: ["b"]))
            #expect(room.allViews.count == 2 && renditions(room).count == 1)
            room.apply(scene())
            #expect(room.allViews.count == 2 && renditions(room).count == 2)
        }
        file.end()
        #expect(room.allViews.isEmpty && !room.isRunning)
    }

    // MARK: - What a tap gets

    @Test("A tap goes on from a keyframe with the same parameter sets, with growing times, there and back")
    func pictures() async throws {
        let room = still.room()
        room.apply(scene())
        let tape = Tape()
        let file = room.tap("file", video: { tape.append($0) }, audio: { _, _ in })
        var time = MonotonicClock.now() + .seconds(3600)
        /// Moves the clock until the tap has `count` more frames. A still canvas has one frame a second.
        func run(_ count: Int) async -> [EncodedVideoFrame] {
            let before = tape.frames.count
            for _ in 0..<count * 4 where tape.frames.count < before + count {
                time = time + .seconds(1)
                _ = still.video.run(at: time)
                _ = await eventually(.milliseconds(200)) { tape.frames.count >= before + count }
            }
            return Array(tape.frames[before...])
        }
        let first = await run(2)
        #expect(tape.frames.first?.isKeyframe == true && first.count == 2)
        room.apply(scene(unrecorded: ["b"]))
        let without = await run(2)
        #expect(without.first?.isKeyframe == true && without.count == 2)
        let (old, new) = (try #require(tape.frames.first), try #require(without.first))
        #expect(parameterSets(old) == parameterSets(new) && !parameterSets(old).isEmpty)
        room.apply(scene())
        #expect(room.allViews.count == 2, "goes on until the other's keyframe")
        // Ticks before the change may show who was not recorded in the participants' picture: their time is real.
        _ = await run(4)
        #expect(await eventually { room.allViews.map(\.id) == [.main] })
        #expect(file.rendition?.key.view == .main && renditions(room).count == 1)
        let times = tape.frames.map(\.timestamp)
        #expect(times == times.sorted() && Set(times).count == times.count, "\(times)")
        file.end()
    }

    private func parameterSets(_ frame: EncodedVideoFrame) -> [[UInt8]] {
        H264.units(inAnnexB: frame.data).map { Array(frame.data[$0]) }.filter {
            [H264.UnitType.sps, H264.UnitType.pps].contains(($0.first ?? 0) & 0x1F)
        }
    }

    // MARK: - Audio

    @Test("The taps' mix is without who is not recorded, also while that person leaves, and only one mix more")
    func mixes() throws {
        var configuration = RoomMediaConfiguration.Audio()
        configuration.level = .off
        let room = AudioRoom(configuration: configuration, speakersChanged: { _, _ in })
        let tape = Guarded<[Float]>([])
        let other = Guarded<[Float]>([])
        room.tap("file") { samples, _ in tape.withLock { $0 += samples } }
        room.tap("more") { samples, _ in other.withLock { $0 += samples } }
        let talkers = [try Talker(tone: 600), try Talker(tone: 1100)]
        room.seats["a"] = talkers[0].seat("a")
        room.seats["b"] = talkers[1].seat("b")
        func run(_ ticks: Range<Int>, _ talking: Set<Int>) throws -> ArraySlice<Float> {
            let start = tape.withLock { $0.count }
            for tick in ticks {
                for index in talking { try talkers[index].send(tick: tick, amplitude: 0.3) }
                _ = room.run(tick: tick)
            }
            return tape.withLock { $0[start...] }
        }
        let both = try run(0..<50, [0, 1]).suffix(960 * 20)
        #expect(
            strength(of: 600, in: both) > 0.2 && strength(of: 1100, in: both) > 0.2 && room.mix()?.hasOutgoing == false)
        room.apply([person("a", isRecorded: false), person("b")])
        let one = try run(50..<100, [0, 1])
        #expect(
            strength(of: 600, in: one) < 1e-3 && strength(of: 1100, in: one) > 0.2 && room.mix()?.hasOutgoing == true)
        _ = try run(100..<150, [0])
        let silence = try run(150..<170, [0])
        #expect(silence.allSatisfy { $0 == 0 })
        room.leave("a")
        room.apply([person("b")])
        let after = try run(170..<190, [])
        #expect(after.allSatisfy { $0 == 0 } && room.mix()?.hasOutgoing == false)
        #expect(other.withLock { $0 } == tape.withLock { $0 })
        room.endTap("file")
        room.endTap("more")
        room.apply([person("b", isRecorded: false)])
        _ = try run(190..<195, [1])
        #expect(room.mix()?.hasOutgoing == false, "nobody takes it")
    }
}
