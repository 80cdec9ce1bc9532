import Basics
import Foundation
import Mixing
import Peer
import RoomMedia
import Testing

@testable import Conference

@Suite("Screen beside the camera")
struct ScreenTests {
    private func room(_ people: [String] = ["a", "b"]) throws -> Room {
        var room = Room(id: "r", settings: RoomSettings(), createdAt: Date(timeIntervalSince1970: 0), at: .zero)
        for id in people { _ = try room.join(AdmittedJoin(room: "r", name: id), id: id, secret: "s", at: .zero) }
        return room
    }

    private func scene(_ room: Room) -> Scene { RoomRecord.scene(of: room) { LayoutLibrary.builtIn[$0] } }

    @Test("a presenter with a second video section has two pictures, and the camera's is as before")
    func twoPictures() throws {
        var room = try room()
        room.negotiated("a", hasScreenSection: true)
        #expect(scene(room).people.map(\.id) == ["a", "b"], "a section alone is no screen")
        try room.present("a", true)
        let people = scene(room).people
        #expect(people.map(\.id) == ["a", "b", "a/screen"])
        #expect(!people[0].isPresenting && people[0].sendsVideo && people[0].sender == "a")
        let screen = people[2]
        #expect(screen.isPresenting && screen.sendsVideo && !screen.sendsAudio && !screen.isMuted)
        #expect(screen.sender == "a" && screen.source == .screen && screen.name == "a")
        #expect(room.infos[0].presenting && room.infos[0].video)

        try room.setState("a", audio: nil, video: false, hand: nil)
        let without = scene(room).people
        #expect(!without[0].sendsVideo && without[2].sendsVideo && !room.infos[0].video)
        try room.present("a", false)
        #expect(scene(room).people.map(\.id) == ["a", "b"])
    }

    @Test("without a second section the one picture is the screen")
    func onePicture() throws {
        var room = try room()
        try room.setState("a", audio: nil, video: false, hand: nil)
        try room.present("a", true)
        let people = scene(room).people
        #expect(people.map(\.id) == ["a", "b"] && people[0].isPresenting && people[0].sendsVideo)
    }

    @Test("a moderator's switch and another role end the screen like the camera")
    func moderation() throws {
        var room = try room()
        room.negotiated("a", hasScreenSection: true)
        try room.present("a", true)
        var change = ParticipantChange()
        change.videoMuted = true
        try room.change("a", change)
        #expect(scene(room).people.filter(\.sendsVideo).map(\.id) == ["b"])
        change = ParticipantChange()
        change.role = .viewer
        try room.change("a", change)
        #expect(scene(room).people.map(\.id) == ["a", "b"])
        #expect(throws: ConferenceError.self) { try room.present("a", true) }
    }

    @Test(
        "the sound of a screen is heard with the microphone off, and the sign of the microphone stays",
        arguments: [(true, true), (true, false), (false, true), (false, false)])
    func sound(microphone: Bool, sharesSound: Bool) throws {
        var room = try room()
        room.negotiated("a", hasScreenSection: true)
        try room.setState("a", audio: microphone, video: nil, hand: nil)
        try room.present("a", true, audio: sharesSound)
        let person = scene(room).people[0]
        #expect(person.sendsAudio == (microphone || sharesSound))
        #expect(person.isMuted == !microphone && room.infos[0].audio == microphone)
        var change = ParticipantChange()
        change.audioMuted = true
        try room.change("a", change)
        #expect(!scene(room).people[0].sendsAudio, "a moderator's switch is the harder one")
        change.audioMuted = false
        try room.change("a", change)
        try room.present("a", false)
        #expect(scene(room).people[0].sendsAudio == microphone)
    }

    @Test("each picture has its limit: the screen's text stays sharp, the camera's tile is small")
    func limits() throws {
        var room = try room()
        room.negotiated("a", hasScreenSection: true)
        try room.present("a", true)
        var tile = TilesInfo.Tile(participant: "a", x: 0, y: 0, width: 1114, height: 720)
        tile.isScreen = true
        let camera = TilesInfo.Tile(participant: "a", x: 1122, y: 8, width: 150, height: 84)
        let tiles = [TilesInfo(width: 1280, height: 720, tiles: [tile, camera])]
        let limits = try #require(room.neededLimits(tiles)["a"])
        #expect(limits.screen.rate >= .megabits(2.4) && limits.screen.height == 720)
        #expect(limits.camera.rate == .kilobits(120) && limits.camera.height == 84)
        #expect(!limits.differs(from: limits) && limits.differs(from: nil))
        try room.present("a", false)
        let after = try #require(room.neededLimits(tiles)["a"])
        #expect(after.screen.rate == .zero && after.differs(from: limits))
    }
}
