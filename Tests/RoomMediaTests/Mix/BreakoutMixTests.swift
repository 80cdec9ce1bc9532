import Basics
import Codecs
import Mixing
import Peer
import TestSupport
import Testing

@testable import RoomMedia

/// Breakout groups of one room: who is seen and heard where.
@Suite("The media of breakout groups")
struct BreakoutMixTests {
    private static let one = GroupID(1)
    private static let two = GroupID(2)
    /// The tone of each talker, in Hz.
    private static let tones = ["a": 600.0, "b": 1100.0, "c": 1700.0]

    private func person(_ id: String, _ group: GroupID = .main, _ order: Int = 0) -> Scene.Person {
        var person = Scene.Person(
            id: id, name: id, isShown: true, sendsVideo: true, sendsAudio: true, isMuted: false, hand: false,
            isPresenting: false, isPinned: false, joinOrder: order, gain: 1, hearsAs: id)
        person.group = group
        return person
    }

    // MARK: - Audio

    /// What was reported as speakers.
    private final class Reports: Sendable {
        private let heard = Guarded<[GroupID: Speakers]>([:])
        func take(_ group: GroupID, _ speakers: Speakers) { heard.withLock { $0[group] = speakers } }
        subscript(_ group: GroupID) -> String? { heard.withLock { $0[group]?.active } }
    }

    /// A room whose three talkers send tones, and each get their mix.
    private final class Hall {
        let room: AudioRoom
        let reports: Reports
        private var talkers: [String: Talker] = [:]
        private var tick = 0
        private let numbers = ["a": 1, "b": 2, "c": 3]

        init(_ ids: [String] = ["a", "b", "c"]) throws {
            var configuration = RoomMediaConfiguration.Audio()
            configuration.level = .off
            configuration.bitRate = .kilobits(64)
            let reports = Reports()
            self.reports = reports
            room = AudioRoom(configuration: configuration) { reports.take($0, $1) }
            for id in ids {
                let talker = try Talker(tone: BreakoutMixTests.tones[id] ?? 300)
                talkers[id] = talker
                room.seats[id] = talker.seat(id)
                room.seats[id]?.destination = PeerID(loop: 0, number: numbers[id] ?? 0)
            }
        }

        /// Runs a second and a half, and returns the tones that each one heard in its second half.
        func hear(_ talking: Set<String> = ["a", "b", "c"]) throws -> [String: Set<String>] {
            var heard: [Int: [Float]] = [:]
            var decoders: [Int: OpusDecoder] = [:]
            for _ in 0..<75 {
                for id in talking { try talkers[id]?.send(tick: tick, amplitude: 0.2) }
                for delivery in room.run(tick: tick) {
                    let number = delivery.seat.number
                    let decoder = try decoders[number] ?? OpusDecoder()
                    decoders[number] = decoder
                    try decoder.decode(delivery.payload, into: &heard[number, default: []])
                }
                tick += 1
            }
            return numbers.mapValues { number in
                let samples = (heard[number] ?? []).suffix(960 * 30)
                if samples.isEmpty { return [] }
                return Set(BreakoutMixTests.tones.filter { strength(of: $0.value, in: samples) > 0.02 }.keys)
            }
        }
    }

    @Test("a group hears itself alone, and everybody hears everybody again after it")
    func apart() throws {
        let hall = try Hall()
        #expect(try hall.hear() == ["a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]])
        hall.room.apply([person("a", Self.one), person("b", Self.one), person("c", Self.two)])
        #expect(try hall.hear() == ["a": ["b"], "b": ["a"], "c": []])
        hall.room.apply([person("a", Self.two), person("b", Self.one), person("c", Self.two)])
        #expect(try hall.hear() == ["a": ["c"], "b": [], "c": ["a"]])
        hall.room.apply([person("a"), person("b"), person("c")])
        #expect(try hall.hear() == ["a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]])
        #expect(hall.room.mix(of: Self.one) == nil, "the mixes of groups go with them")
    }

    @Test("who speaks to all is heard everywhere, and hears its own group")
    func speaksToAll() throws {
        let hall = try Hall()
        var host = person("a")
        host.isHeardEverywhere = true
        hall.room.apply([host, person("b", Self.one), person("c", Self.two)])
        #expect(try hall.hear() == ["a": [], "b": ["a"], "c": ["a"]])
        host.isHeardEverywhere = false
        hall.room.apply([host, person("b", Self.one), person("c", Self.two)])
        #expect(try hall.hear() == ["a": [], "b": [], "c": []])
    }

    @Test("a host hears into several groups at once, and is not heard there")
    func listens() throws {
        let hall = try Hall()
        var host = person("a")
        host.alsoHears = [Self.one, Self.two]
        hall.room.apply([host, person("b", Self.one), person("c", Self.two)])
        #expect(try hall.hear() == ["a": ["b", "c"], "b": [], "c": []])
        host.alsoHears = [Self.two]
        hall.room.apply([host, person("b", Self.one), person("c", Self.two)])
        #expect(try hall.hear() == ["a": ["c"], "b": [], "c": []])
    }

    @Test("each group has its own speaker")
    func speakers() throws {
        let hall = try Hall()
        hall.room.apply([person("a"), person("b", Self.one), person("c", Self.two)])
        _ = try hall.hear(["b", "c"])
        #expect(hall.reports[.main] == nil && hall.reports[Self.one] == "b" && hall.reports[Self.two] == "c")
        hall.room.apply([person("a"), person("b"), person("c")])
        _ = try hall.hear(["b"])
        #expect(hall.reports[.main] == "b")
    }

    @Test("a tap has the audio of its group")
    func taps() throws {
        let hall = try Hall()
        let (room, group) = (Guarded<[Float]>([]), Guarded<[Float]>([]))
        hall.room.tap("room") { samples, _ in room.withLock { $0 += samples } }
        hall.room.tap("group", of: Self.one) { samples, _ in group.withLock { $0 += samples } }
        let voices = Guarded<Set<String>>([])
        hall.room.tapVoices("tracks", of: Self.one) { taken, _ in
            voices.withLock { $0.formUnion(taken.filter { $0.samples != nil }.map(\.participant)) }
        }
        var people = [person("a"), person("b", Self.one), person("c", Self.two)]
        for index in people.indices { people[index].isRecorded = true }
        hall.room.apply(people)
        _ = try hall.hear()
        func tones(_ samples: [Float]) -> Set<String> {
            Set(Self.tones.filter { strength(of: $0.value, in: samples.suffix(960 * 30)) > 0.02 }.keys)
        }
        #expect(room.withLock { tones($0) } == ["a"] && group.withLock { tones($0) } == ["b"])
        #expect(voices.withLock { $0 } == ["b"])
    }

    @Test("where a group has more talkers than are mixed, the loudest of each group are decoded")
    func crowds() throws {
        var configuration = RoomMediaConfiguration.Audio()
        (configuration.maxSpeakers, configuration.level) = (1, .off)
        let room = AudioRoom(configuration: configuration, speakersChanged: { _, _ in })
        var talkers: [(id: String, talker: Talker, amplitude: Float)] = []
        for group in 1...2 {
            for number in 0..<5 {
                let id = "\(group)-\(number)"
                let talker = try Talker(tone: Double(300 * group + 2000 * (number == 0 ? 0 : 1)))
                talkers.append((id, talker, number == 0 ? 0.4 : 0.05))
                room.seats[id] = talker.seat(id)
            }
        }
        room.apply(talkers.map { person($0.id, GroupID($0.id.hasPrefix("1") ? 1 : 2)) })
        let tapes = [Guarded<[Float]>([]), Guarded<[Float]>([])]
        for group in 1...2 {
            let tape = tapes[group - 1]
            room.tap("\(group)", of: GroupID(group)) { samples, _ in tape.withLock { $0 += samples } }
        }
        for tick in 0..<100 {
            for (_, talker, amplitude) in talkers {
                try talker.send(tick: tick, amplitude: amplitude) { LevelMeter.headerValue(of: $0) }
            }
            _ = room.run(tick: tick)
        }
        for group in 1...2 {
            let own = tapes[group - 1].withLock { strength(of: Double(300 * group), in: $0.suffix(960 * 30)) }
            let other = tapes[group - 1].withLock { strength(of: Double(300 * (3 - group)), in: $0.suffix(960 * 30)) }
            #expect(own > 0.1 && other < 0.01, "group \(group)")
        }
    }

    // MARK: - Pictures

    private func scene(_ people: [Scene.Person]) -> Scene {
        var scene = Scene(width: 320, height: 180, framesPerSecond: 30, views: [:])
        scene.people = people
        for group in Set(people.map(\.group)).union([.main]) {
            scene.views[ViewID("main", group: group)] = Scene.View(layout: LayoutLibrary.builtIn["grid"])
        }
        return scene
    }

    @Test("a view shows those of its group, with the group's own speaker")
    func views() {
        var scene = scene([person("a"), person("b", Self.one, 1), person("c", Self.one, 2), person("d", Self.two, 3)])
        scene.speech.speakers = [.main: "a", Self.one: "c"]
        let one = scene.layoutMembers(for: ViewID("main", group: Self.one)) { _ in 1 }
        #expect(one.map(\.id) == ["b", "c"] && one.map(\.isSpeaker) == [false, true])
        #expect(scene.layoutMembers(for: .main) { _ in 1 }.map(\.id) == ["a"])
        var screen = person("d/screen", Self.two)
        screen.isPresenting = true
        scene.people.append(screen)
        #expect(scene.groupsWithScreen == [Self.two])
    }

    @Test("the scene that leaves the room replaces each group's speaker by another of the group")
    func outgoing() {
        var scene = scene([person("a"), person("b", Self.one, 1), person("c", Self.one, 2)])
        scene.people[1].isRecorded = false
        (scene.speech.speakers, scene.speech.ranks) = ([.main: "a", Self.one: "b"], ["a": 0, "b": 0, "c": 1])
        #expect(scene.outgoing(1).speech.speakers == [.main: "a", Self.one: "c"])
        let view = ViewID("main", group: Self.one)
        #expect(view.outgoing(1).inRoom == view && view != .main)
    }

    @Test("a peer that moves joins the renditions of its group, and leaves those of the other")
    func renditions() throws {
        let still = StillServices()
        let room = still.room()
        var host = person("a")
        room.apply(scene([host]))
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        room.setAudio("a", profile: .clear, receiverLimits: OpusReceiverLimits(), to: PeerID(loop: 1, number: 7))
        #expect(room.group(of: "a") == .main && room.view(of: "a") == .main)
        host.group = Self.one
        var moved = scene([host])
        moved.viewOf["a"] = ViewID("main", group: Self.one)
        room.apply(moved)
        #expect(room.group(of: "a") == Self.one && room.view(of: "a") == ViewID("main", group: Self.one))
        let key = try #require(
            room.subscribe(
                "a", view: room.view(of: "a"), format: VideoSendFormat(codec: .h264), kind: .rung(0), budget: nil,
                loop: 1))
        #expect(key.view.group == Self.one)
        // A recording of the room does not run for the group.
        let file = room.tap("file", video: { _ in }, audio: { _, _ in })
        #expect(file.rendition?.key.view == .main)
        room.apply(scene([person("a")]))
        #expect(room.rendition(key) == nil && Set(room.allViews.map(\.id)) == [.main])
    }
}
