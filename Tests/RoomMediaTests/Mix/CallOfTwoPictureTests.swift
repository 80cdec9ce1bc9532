import Basics
import Codecs
import Mixing
import Peer
import TestSupport
import Testing
import Threads

@testable import RoomMedia

/// Composed pictures of a room in which each of two gets the other alone.
@Suite("Pictures of a call of two")
struct CallOfTwoPictureTests {
    private let still = StillServices()
    private let views = ["a": ViewID.main.without("a"), "b": ViewID.main.without("b")]

    /// Two people with a picture for each of them, and the common one.
    private func scene() -> Scene {
        var scene = Scene(width: 320, height: 180, framesPerSecond: 30, views: [.main: Scene.View()])
        scene.people = ["a", "b"].enumerated().map { order, id in
            Scene.Person(
                id: id, name: "", isShown: true, sendsVideo: true, sendsAudio: false, isMuted: false, hand: false,
                isPresenting: false, isPinned: false, joinOrder: order, gain: 1, hearsAs: id)
        }
        var layout = LayoutLibrary.builtIn["grid"]
        scene.views[.main] = Scene.View(layout: layout)
        layout?.showsSelf = false
        for (id, view) in views {
            scene.views[view] = Scene.View(layout: layout)
            scene.views[view]?.viewer = id
        }
        scene.viewOf = views
        return scene
    }

    private func picture(luma: UInt8) -> Picture {
        let picture = Picture(width: 320, height: 180)
        picture.fill(y: luma, u: 128, v: 128)
        return picture
    }

    /// The parts of a picture that are bright and dark, by its luma.
    private func parts(_ picture: Picture) -> (bright: Double, dark: Double) {
        let values = (0..<18).flatMap { y in (0..<32).map { picture.y[(y * 10 + 5) * picture.yStride + $0 * 10 + 5] } }
        func part(_ body: (UInt8) -> Bool) -> Double { Double(values.count(where: body)) / Double(values.count) }
        return (part { $0 > 180 }, part { (60..<120).contains($0) })
    }

    @Test("Each sees the other in the whole picture, others both beside each other", .timeLimit(.minutes(1)))
    func composed() async throws {
        let room = still.room()
        let inputs = ["a": room.addInput("a"), "b": room.addInput("b")]
        room.apply(scene())
        room.setAudio("a", profile: .clear, receiverLimits: OpusReceiverLimits(), to: PeerID(loop: 1, number: 7))
        let (bright, dark) = (picture(luma: 220), picture(luma: 90))
        let taken = Guarded<[ViewID: Picture]>([:])
        var now = MonotonicClock.now()
        // A tick while another is composed is left out, and the first ones find no picture yet.
        let isRight = await eventually {
            now = now + .milliseconds(34)
            inputs["a"]?.show(bright, rotation: .none, captureTime: now, at: now)
            inputs["b"]?.show(dark, rotation: .none, captureTime: now, at: now)
            for view in [ViewID.main] + views.values {
                _ = room.snapshot(of: view) { picture in taken.withLock { $0[view] = picture } }
            }
            _ = still.video.run(at: now + .milliseconds(34))
            let pictures = taken.withLock { $0 }
            guard let forA = pictures[.main.without("a")], let forB = pictures[.main.without("b")],
                let forAll = pictures[.main]
            else { return false }
            let (a, b, all) = (parts(forA), parts(forB), parts(forAll))
            return a.dark > 0.98 && a.bright == 0 && b.bright > 0.98 && b.dark == 0
                && (0.2...0.35).contains(all.bright) && (0.2...0.35).contains(all.dark)
        }
        #expect(isRight, "\(taken.withLock { $0.mapValues { parts($0) } })")
    }

    @Test("Two people have two encodes, their ladders and stills, and the common picture is not made for nobody")
    func encodes() throws {
        let room = still.room()
        var scene = scene()
        scene.views[.main]?.isUsed = false
        room.apply(scene)
        for id in ["a", "b"] {
            _ = room.add(id, hearsAs: id, requestKeyframe: { _ in })
            room.setAudio(id, profile: .clear, receiverLimits: OpusReceiverLimits(), to: PeerID(loop: 1, number: 7))
        }
        let format = VideoSendFormat(codec: .vp8)
        for (id, view) in views {
            let key = room.subscribe(id, view: view, format: format, kind: .rung(0), budget: nil, loop: 0)
            #expect(try #require(key).view == room.view(of: id))
        }
        #expect(Set(room.allViews.map(\.id)) == Set(views.values))
        #expect(room.allViews.flatMap(\.allRenditions).count == 2)
        #expect(
            room.subscribe("a", view: .main.without("a"), format: format, kind: .stills, budget: nil, loop: 0) != nil)
        // A recording takes the common picture, as ever.
        scene.views[.main]?.isUsed = true
        room.apply(scene)
        let tap = room.tap("file", video: { _ in }, audio: { _, _ in })
        #expect(tap.rendition?.key.view == .main && room.recorded == [.main])
        // Who is not recorded is left out of what leaves the room, and stays in what the other sees.
        scene.people[1].isRecorded = false
        room.apply(scene)
        #expect(tap.rendition?.key.view.isOutgoing == true && tap.rendition?.key.view.viewer == nil)
        #expect(Set(room.allViews.map(\.id)).isSuperset(of: views.values))
        // A third one: the common picture alone.
        tap.end()
        scene.people[1].isRecorded = true
        scene.views = [.main: Scene.View(layout: LayoutLibrary.builtIn["grid"])]
        scene.viewOf = [:]
        #expect(room.apply(scene) && room.allViews.map(\.id) == [.main])
    }

    @Test("Under overload a picture beside the room's own has half its frames, and a quarter at half the rate")
    func frames() {
        let overload = OverloadState()
        func kept(_ rate: Int) -> Int {
            (1...600).count { !overload.leavesOut(Instant(ticks: Int64($0), at: Int64(rate)), framesPerSecond: rate) }
        }
        for (level, part) in [(OverloadState.Level.none, 1), (.fastEncoders, 2), (.halfRate, 4), (.noTopRung, 4)] {
            for second in 0..<20 where overload.level < level {
                overload.ticked(isLate: true)
                _ = overload.evaluate(at: .zero + .seconds(10 * level.rawValue + second))
            }
            #expect(overload.level == level)
            for rate in [15, 25, 30, 60] { #expect(kept(rate) == 600 / part, "\(level) at \(rate)") }
        }
    }

    @Test("The picture for all, the only one of a room, and those that leave it keep their frames")
    func spared() {
        let room = still.room()
        var scene = scene()
        room.apply(scene)
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        room.setAudio("a", profile: .clear, receiverLimits: OpusReceiverLimits(), to: PeerID(loop: 1, number: 7))
        #expect(room.sparedViews == Set(views.values))
        let tap = room.tap("file", .main.without("a"), video: { _ in }, audio: { _, _ in })
        #expect(room.sparedViews == [.main.without("b")])
        tap.end()
        scene.views = scene.views.filter { $0.key == .main.without("a") }
        room.apply(scene)
        #expect(room.sparedViews.isEmpty)
    }
}
