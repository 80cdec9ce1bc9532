import Basics
import Codecs
import Peer
import Synchronization
import TestSupport
import Testing

@testable import RoomMedia

@Suite("Taps of what each participant sends")
struct TrackTapTests {
    private let still = StillServices()

    private func person(_ id: String, sendsAudio: Bool = true, isRecorded: Bool = true) -> Scene.Person {
        var person = Scene.Person(
            id: id, name: id, isShown: true, sendsVideo: true, sendsAudio: sendsAudio, isMuted: !sendsAudio,
            hand: false, isPresenting: false, isPinned: false, joinOrder: 0, gain: 1, hearsAs: id)
        person.isRecorded = isRecorded
        return person
    }

    /// The last second of each tracked voice of a room of talkers "0", "1" …, and the level of the mix.
    private func run(
        _ people: [Scene.Person], hasTracks: Bool = true, amplitude: (Int) -> Float,
        level: @escaping ([Float]) -> UInt8? = { LevelMeter.headerValue(of: $0) }
    ) throws -> (voices: [String: Float], mix: Float, rested: Int) {
        let counters = IntakeCounters()
        var configuration = RoomMediaConfiguration.Audio()
        configuration.level = .off
        let room = AudioRoom(configuration: configuration, speakersChanged: { _, _ in })
        let talkers = try people.map { _ in try Talker(tone: 500, counters: counters) }
        for (person, talker) in zip(people, talkers) { room.seats[person.id] = talker.seat(person.id) }
        let voices = Guarded<[String: Float]>([:])
        let mix = Guarded<Float>(0)
        let isLate = Guarded(false)
        room.apply(people)
        if hasTracks {
            room.tapVoices("file") { taken, time in
                guard isLate.withLock({ $0 }) else { return }
                for voice in taken {
                    let loudest = voice.samples?.map(abs).max() ?? 0
                    #expect(voice.samples.map { $0.count == 960 } ?? true && time % 960 == 0)
                    voices.withLock { $0[voice.participant] = max($0[voice.participant] ?? 0, loudest) }
                }
            }
        }
        room.tap("file") { samples, _ in
            if isLate.withLock({ $0 }) { mix.withLock { $0 = max($0, samples.map(abs).max() ?? 0) } }
        }
        for tick in 0..<250 {
            if tick == 200 { isLate.withLock { $0 = true } }
            for (number, talker) in talkers.enumerated() {
                try talker.send(tick: tick, amplitude: amplitude(number), level: level)
            }
            _ = room.run(tick: tick)
        }
        return (voices.withLock { $0 }, mix.withLock { $0 }, counters.restedAudioPackets.load(ordering: .relaxed))
    }

    @Test("Who is not mixed, because six others are louder, is decoded for its track, and the mix stays the same")
    func unmixed() throws {
        let people = (0..<12).map { person("\($0)") }
        let amplitude = { (number: Int) -> Float in 0.02 + 0.005 * Float(number) }
        let tracked = try run(people, amplitude: amplitude)
        #expect(tracked.voices.count == 12)
        for (id, loudest) in tracked.voices {
            #expect(abs(loudest - amplitude(Int(id) ?? 0)) < 0.01, "\(id): \(loudest)")
        }
        let plain = try run(people, hasTracks: false, amplitude: amplitude)
        #expect(plain.voices.isEmpty && plain.rested > 500 && tracked.rested < 100)
        #expect(abs(plain.mix - tracked.mix) < 0.03, "\(plain.mix) \(tracked.mix)")
    }

    @Test("A voice below what is mixed is in its track")
    func resting() throws {
        // 0.000 2 is −77 dBov, below what is decoded for the mix.
        let result = try run([person("0")], amplitude: { _ in 0.000_2 })
        #expect(result.voices["0"] ?? 0 > 0.000_1 && result.mix < 0.000_05, "\(result)")
    }

    @Test("Muted participants are silent in their tracks, and those who are not recorded have none")
    func privacy() throws {
        let people = [person("0"), person("1", sendsAudio: false), person("2", isRecorded: false)]
        let result = try run(people, amplitude: { _ in 0.2 })
        #expect(result.voices.keys.sorted() == ["0", "1"] && result.voices["1"] == 0 && result.voices["0"] ?? 0 > 0.1)
    }

    @Test("Frames of participants who may be recorded are taken as they come, hidden or not, and cost no rendition")
    func pictures() throws {
        let room = still.room()
        let requested = Guarded<[String]>([])
        var intakes: [String: Intake] = [:]
        for id in ["a", "b"] {
            intakes[id] = room.add(id, hearsAs: id) { source in requested.withLock { $0.append("\(id) \(source)") } }
        }
        var scene = Scene(width: 320, height: 180, framesPerSecond: 30, views: [.main: Scene.View(isUsed: false)])
        scene.people = [person("a"), person("b", isRecorded: false)]
        room.apply(scene)
        let taken = Guarded<[String]>([])
        let needsKeyframe = Guarded(true)
        let audio = room.tapAudio("recording") { _, _ in }
        let end = room.tapTracks(
            "tracks",
            TrackTap(
                voices: { _, _ in },
                picture: { picture in
                    taken.withLock { $0.append("\(picture.participant) \(picture.isScreen ? "screen" : "camera")") }
                    return needsKeyframe.withLock { $0 }
                }))
        #expect(requested.withLock { $0 } == ["a camera"])
        #expect(room.isRunning && room.allViews.isEmpty && room.recorded.isEmpty, "no picture is made")
        let frame = ReceivedVideoFrame(
            frame: EncodedVideoFrame(codec: .vp8, data: [1], isKeyframe: false, timestamp: 0), captureTime: .zero,
            arrival: .zero)
        func send(_ id: String) -> Bool { intakes[id]?.video.receive(frame) ?? false }
        #expect(send("a") && !send("b"))
        needsKeyframe.withLock { $0 = false }
        #expect(!send("a"))
        // The camera's section sends a screen now.
        scene.people[0].isPresenting = true
        room.apply(scene)
        _ = send("a")
        #expect(taken.withLock { $0 } == ["a camera", "a camera", "a screen"])
        // From now on nothing of this participant may be written.
        scene.people[0].isRecorded = false
        room.apply(scene)
        #expect(!send("a") && taken.withLock { $0.count } == 3)
        scene.people[0].isRecorded = true
        scene.people[0].sendsVideo = false
        room.apply(scene)
        #expect(!send("a") && taken.withLock { $0.count } == 3, "the camera is muted")
        scene.people[0].sendsVideo = true
        room.apply(scene)
        _ = send("a")
        #expect(taken.withLock { $0.count } == 4)
        end()
        #expect(!send("a") && taken.withLock { $0.count } == 4)
        audio.end()
        #expect(!room.isRunning)
    }
}
