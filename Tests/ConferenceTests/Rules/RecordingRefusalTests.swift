import Basics
import Foundation
import Recording
import Testing

@testable import Conference
@testable import RoomMedia

@Suite("Who is recorded")
struct RecordingRefusalTests {
    private var room = Room(id: "r", settings: RoomSettings(), createdAt: Date(timeIntervalSince1970: 0), at: .zero)

    init() throws {
        for id in ["host", "ann", "bob"] {
            var request = AdmittedJoin(room: "r", name: id)
            (request.roleIsProven, request.isNative) = (false, true)
            if id == "bob" { request.unrecordedBy = [.token] }
            _ = try room.join(request, id: id, secret: "s", at: .zero)
        }
    }

    private static func isConflict(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return false
        } catch { return (error as? ConferenceError)?.kind == "conflict" }
    }

    private func info(_ id: String) -> ParticipantInfo? { room.member(id)?.info }

    @Test("a participant refuses and agrees again, and everyone sees it")
    mutating func own() throws {
        #expect(info("ann")?.recorded == true)
        try room.setRecorded("ann", false, by: .own)
        try room.setRecorded("ann", false, by: .own)
        #expect(info("ann")?.recorded == false && info("ann")?.unrecordedBy == [.own])
        try room.setRecorded("ann", true, by: .own)
        try room.setRecorded("ann", true, by: .own)
        #expect(info("ann")?.recorded == true && info("ann")?.unrecordedBy == [])
    }

    @Test("a moderator leaves others out and takes that back, but not their own refusal nor their token's")
    mutating func host() throws {
        _ = try room.moderate(.setRecorded("ann", false), by: "host")
        #expect(info("ann")?.unrecordedBy == [.host])
        var isRefused = Self.isConflict { try room.setRecorded("ann", true, by: .own) }
        #expect(isRefused, "the participant does not overrule the host")
        try room.setRecorded("ann", false, by: .own)
        _ = try room.moderate(.setRecorded("ann", true), by: "host")
        #expect(info("ann")?.unrecordedBy == [.own], "the host's own decision only")
        isRefused = Self.isConflict { _ = try room.moderate(.setRecorded("ann", true), by: "host") }
        #expect(isRefused)
        var change = ParticipantChange()
        (change.recorded, change.name) = (true, "Annie")
        isRefused = Self.isConflict { try room.change("ann", change) }
        #expect(isRefused && info("ann")?.name == "ann", "nothing is changed")
        try room.setRecorded("ann", true, by: .own)
        #expect(info("ann")?.recorded == true)
        for who in [RecordingRefusal.own, .host] {
            isRefused = Self.isConflict { try room.setRecorded("bob", true, by: who) }
            #expect(isRefused, "\(who)")
        }
        #expect(info("bob")?.unrecordedBy == [.token])
        change.recorded = false
        #expect(try !room.change("ann", change).recorded)
        #expect(throws: ConferenceError.self) { try room.moderate(.setRecorded("host", false), by: "ann") }
        #expect(throws: ConferenceError.self) { try room.setRecorded("nobody", false, by: .host) }
    }

    @Test("only who was recorded before is left out more than before")
    mutating func more() throws {
        let before = room
        #expect(!RoomChange(from: before, to: room).leavesOutMore)
        try room.setRecorded("ann", false, by: .own)
        #expect(RoomChange(from: before, to: room).leavesOutMore)
        let out = room
        try room.setRecorded("ann", false, by: .host)
        try room.setRecorded("ann", true, by: .own)
        #expect(!RoomChange(from: out, to: room).leavesOutMore && !RoomChange(from: room, to: out).leavesOutMore)
        room.leave("ann", at: .zero)
        #expect(!RoomChange(from: before, to: room).leavesOutMore, "who has left is in nothing any more")
    }

    @Test("the scene has it of the camera and of the screen beside it")
    mutating func scene() throws {
        room.negotiated("ann", hasScreenSection: true)
        try room.present("ann", true)
        try room.setRecorded("ann", false, by: .own)
        let people = RoomRecord.scene(of: room) { _ in nil }.people
        #expect(people.filter { !$0.isRecorded }.map(\.id) == ["ann", "bob", PictureID.screen(of: "ann")])
    }

    @Test("a timeline knows nothing of those who are not recorded: no name, coming, going, speech or screen")
    mutating func timeline() throws {
        room.speakers(Speakers(active: nil, ranks: [], speaking: ["ann", "bob"]))
        let start = TimelineNotes.events(room, since: nil, in: .main).filter { $0.participant != "host" }
        #expect(start.map(\.kind) == [.joined, .speaking, .layout])
        #expect(start.compactMap(\.participant) == ["ann", "ann"])
        var old = room
        try room.present("ann", true)
        try room.setRecorded("ann", false, by: .own)
        #expect(TimelineNotes.events(room, since: old, in: .main).map(\.kind) == [.unrecorded, .silent, .layout])
        old = room
        try room.setRecorded("ann", true, by: .own)
        #expect(
            TimelineNotes.events(room, since: old, in: .main).map(\.kind) == [
                .joined, .recorded, .presenting, .speaking,
            ])
        old = room
        room.speakers(Speakers(active: nil, ranks: [], speaking: []))
        room.leave("bob", at: .zero)
        #expect(TimelineNotes.events(room, since: old, in: .main).map(\.kind) == [.silent])
    }
}
