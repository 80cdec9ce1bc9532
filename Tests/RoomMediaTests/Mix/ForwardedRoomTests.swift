import Basics
import Codecs
import Mixing
import Peer
import Synchronization
import TestSupport
import Testing
import Threads

@testable import RoomMedia

/// A room in simulated time in which one of two gets the other's frames as they come.
@Suite("Forwarded pictures of a room", .timeLimit(.minutes(2)))
struct ForwardedRoomTests {
    private let own = ViewID.main.without("b")

    /// What the room asks of the sender.
    private struct Asked {
        var keyframes = 0
        var limits: [BitRate?] = []
    }

    private final class Call {
        let still = StillServices()
        let room: RoomEngine
        let intake: Intake
        let asked = Guarded(Asked())
        private var sender: SentVideo
        private var answered = 0
        var now: Instant { still.now }
        /// Whether the camera sends.
        var sends = true

        init(_ scene: Scene, codec: VideoCodec) throws {
            room = still.room()
            sender = try SentVideo(codec)
            intake = room.add("a", hearsAs: "a") { [asked] _, limit in
                asked.withLock { $0.limits.append(limit) }
            } requestKeyframe: { [asked] _ in
                asked.withLock { $0.keyframes += 1 }
            }
            _ = room.add("b", hearsAs: "b", requestKeyframe: { _ in })
            room.apply(scene)
            room.setAudio("b", profile: .clear, receiverLimits: OpusReceiverLimits(), to: PeerID(loop: 0, number: 7))
        }

        /// Runs so many ticks, in each of which the camera sends a frame.
        func run(_ ticks: Int) async throws {
            for _ in 0..<ticks {
                still.advance(to: now + .nanoseconds(1_000_000_000 / 30))
                let requested = asked.withLock { $0.keyframes }
                if sends, let frame = try sender.frame(at: now, isKeyframe: requested > answered) {
                    answered = requested
                    if intake.video.receive(frame) { asked.withLock { $0.keyframes += 1 } }
                }
                _ = await eventually { !room.isBusy }
                _ = still.video.run(at: now + .milliseconds(1))
                _ = await eventually { !room.isBusy }
            }
        }

        var decoded: Int { still.counters.decodedFrames.load(ordering: .relaxed) }

        /// What was delivered since the last call.
        func delivered() -> [(key: RenditionKey, frame: PacketizedVideoFrame)] {
            still.delivered.withLock { delivered in
                defer { delivered = [] }
                return delivered
            }
        }
    }

    private func scene(people: [String] = ["a", "b"], name: String = "", passthrough: Bool = true) -> Scene {
        var scene = Scene(width: 320, height: 180, framesPerSecond: 30, views: [.main: Scene.View()])
        scene.passthrough = passthrough
        scene.people = people.enumerated().map { order, id in
            Scene.Person(
                id: id, name: name, isShown: true, sendsVideo: true, sendsAudio: false, isMuted: false, hand: false,
                isPresenting: false, isPinned: false, joinOrder: order, gain: 1, hearsAs: id)
        }
        var layout = LayoutLibrary.builtIn["grid"]
        scene.views[.main] = Scene.View(layout: layout)
        if people.count == 2 {
            layout?.showsSelf = false
            scene.views[.main]?.isUsed = false
            scene.views[own] = Scene.View(layout: layout)
            scene.views[own]?.viewer = "b"
            scene.viewOf = ["b": own]
        }
        return scene
    }

    private func format(_ codec: VideoCodec) -> VideoSendFormat { VideoSendFormat(codec: codec) }

    /// A call in which "b" takes the camera of "a" as it comes.
    private func forwardedCall(_ codec: VideoCodec) async throws -> Call {
        let call = try Call(scene(), codec: codec)
        let mix = call.room.subscribe("b", view: own, format: format(codec), kind: .rung(0), budget: nil, loop: 0)
        try await call.run(70)
        let offer = try #require(call.room.offered(of: own, at: call.now))
        #expect(offer.picture == "a" && offer.codec == codec)
        let key = try #require(
            call.room.subscribe(
                "b", view: own, format: format(codec), kind: .forwarded("a"), budget: .kilobits(900), loop: 0))
        _ = call.room.rendition(key)?.awaitKeyframe("b", at: call.now)
        _ = call.delivered()
        try await call.run(40)
        let frames = call.delivered()
        let forwarded = frames.filter { $0.key == key }.map(\.frame)
        #expect(forwarded.first?.isKeyframe == true && forwarded.count >= 8)
        #expect(frames.contains { $0.key == mix }, "until then the mix goes on")
        #expect(zip(forwarded, forwarded.dropFirst()).allSatisfy { $1.timestamp - $0.timestamp == 3000 })
        call.room.unsubscribe("b", from: try #require(mix))
        return call
    }

    @Test("Frames go on as they came, and a second later nothing is decoded or encoded", arguments: VideoCodec.received)
    func forwards(codec: VideoCodec) async throws {
        let call = try await forwardedCall(codec)
        try await call.run(40)
        let (decoded, asked) = (call.decoded, call.asked.withLock { $0 })
        #expect(!call.intake.video.isShown && asked.limits.last == .kilobits(900) * RenditionControl.headers)
        #expect(call.room.forwardLimits(of: "a") == [.camera: .kilobits(900) * RenditionControl.headers])
        _ = call.delivered()
        try await call.run(60)
        let frames = call.delivered()
        #expect(frames.count == 60 && frames.allSatisfy { $0.key.kind == .forwarded("a") })
        #expect(call.decoded == decoded)
        let rendition = try #require(call.room.allViews.flatMap(\.allRenditions).first)
        #expect(rendition.size == (320, 180) && rendition.label.kind == "forwarded")
        // A keyframe that a member needs is the sender's, and is decoded as a check.
        rendition.requestKeyframe(isUrgent: false)
        try await call.run(3)
        #expect(call.delivered().contains { $0.frame.isKeyframe } && call.decoded == decoded + 1)
        #expect(call.asked.withLock { $0.keyframes } == asked.keyframes + 1)
    }

    @Test("A third person ends it: the frames go on until the mix of all has the sender's next picture")
    func third() async throws {
        let call = try await forwardedCall(.h264)
        try await call.run(50)
        _ = call.delivered()
        let requested = call.asked.withLock { $0.keyframes }
        call.room.apply(scene(people: ["a", "b", "c"]))
        let mix = try #require(
            call.room.subscribe("b", view: .main, format: format(.h264), kind: .rung(0), budget: nil, loop: 0))
        try await call.run(1)
        #expect(call.asked.withLock { $0.keyframes } > requested, "the decoder needs it")
        try await call.run(9)
        let frames = call.delivered()
        let first = try #require(frames.firstIndex { $0.key == mix })
        #expect(frames[..<first].contains { $0.key.kind == .forwarded("a") && $0.frame.isKeyframe })
        #expect(call.intake.video.isShown)
        try await call.run(60)
        let later = call.delivered().suffix(5)
        #expect(later.allSatisfy { $0.key == mix }, "the old view has ended")
        #expect(call.asked.withLock { $0.limits.last } == .some(nil), "the sender may send what its tile needs")
        #expect(call.room.forwardLimits(of: "a").isEmpty)
    }

    @Test("A camera that falls silent, and frames that are not the canvas', are the mix's again")
    func faults() async throws {
        let call = try await forwardedCall(.vp8)
        try await call.run(50)
        let before = call.still.refreshes.withLock { $0 }
        call.sends = false
        try await call.run(50)
        #expect(call.still.refreshes.withLock { $0 } == before + 1 && call.room.offered(of: own, at: call.now) == nil)
        call.sends = true
        _ = call.room.subscribe("b", view: own, format: format(.vp8), kind: .rung(0), budget: nil, loop: 0)
        try await call.run(5)
        #expect(call.delivered().contains { $0.key.kind == .rung(0) } && call.intake.video.isShown)
    }

    @Test("Of who is not shown any more no frame goes on, nor in a view that has ended")
    func hidden() async throws {
        /// How many frames go on after a scene, whose first tick may still have one.
        func forwarded(_ call: Call, after scene: Scene, ticks: Int) async throws -> Int {
            call.room.apply(scene)
            try await call.run(1)
            _ = call.delivered()
            try await call.run(ticks)
            return call.delivered().count { $0.key.kind.isForwarded }
        }
        let call = try await forwardedCall(.h264)
        try await call.run(50)
        var muted = scene()
        muted.people[0].sendsVideo = false
        #expect(try await forwarded(call, after: muted, ticks: 30) == 0)

        let other = try await forwardedCall(.h264)
        try await other.run(50)
        var three = scene(people: ["a", "b", "c"])
        #expect(try await forwarded(other, after: three, ticks: 1) > 0, "until the mix is there")
        three.people[0].isShown = false
        #expect(try await forwarded(other, after: three, ticks: 10) == 0)
    }

    /// Switching decoding off and on again cost half a second of standing pictures where a sender had just sent a keyframe.
    @Test("A view in place of one that has ended goes on with the senders' pictures, without a keyframe")
    func replaces() async throws {
        let call = try Call(scene(people: ["a", "b", "c"]), codec: .h264)
        let mix = call.room.subscribe("b", view: .main, format: format(.h264), kind: .rung(0), budget: nil, loop: 0)
        try await call.run(40)
        #expect(mix != nil && call.intake.video.isShown)
        let (asked, decoded) = (call.asked.withLock { $0.keyframes }, call.decoded)
        call.room.apply(scene())
        #expect(call.intake.video.isShown)
        #expect(
            call.room.subscribe("b", view: own, format: format(.h264), kind: .rung(0), budget: nil, loop: 0) != nil)
        try await call.run(30)
        #expect(call.asked.withLock { $0.keyframes } == asked && call.decoded >= decoded + 28)
        // Who has no tile in the new view is decoded no more.
        var away = scene()
        away.people[0].sendsVideo = false
        call.room.apply(away)
        try await call.run(2)
        #expect(!call.intake.video.isShown)
    }

    @Test("A name, a sign, a second tile, and the setting keep the mix")
    func conditions() async throws {
        func offered(_ change: (inout Scene) -> Void) async throws -> Bool {
            var scene = scene()
            change(&scene)
            let call = try Call(scene, codec: .h264)
            try await call.run(65)
            return call.room.offered(of: own, at: call.now) != nil
        }
        #expect(try await offered { _ in })
        #expect(try await !offered { $0 = self.scene(passthrough: false) })
        #expect(try await !offered { $0 = self.scene(name: "Ada") })
        #expect(try await !offered { $0.people[0].isMuted = true })
        #expect(try await !offered { $0.people[0].hand = true })
        #expect(
            try await offered { scene in
                scene = self.scene(name: "Ada")
                scene.views[own]?.takersDrawSigns = true
                (scene.people[0].isMuted, scene.people[0].hand) = (true, true)
            })
        #expect(try await offered { $0.speech.speaking = ["a"] }, "one tile alone has no border")
        #expect(try await !offered { $0.people[0].sendsVideo = false })
        #expect(try await !offered { $0.views[own]?.layout?.style.radius = 0.1 })
    }
}
