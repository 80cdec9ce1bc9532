import Basics
import Foundation
import Testing

@testable import Conference

/// What a room takes along to another server, and what that server makes of invalid bytes.
@Suite("The stored state of rooms")
struct RoomStateTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func state() -> RoomState {
        var state = RoomState(room: "weekly", meeting: "m1", createdAt: now - 60, savedAt: now)
        (state.settings.layout, state.settings.pin, state.settings.locked) = ("grid", "1234", true)
        state.settings.views = [
            "wall": RoomState.View(
                layout: "single", width: 640,
                renditions: [
                    RoomState.Rung(height: 180, bitrate: 200_000)
                ])
        ]
        var seat = RoomState.Seat(id: "a", name: "Ann", role: .moderator)
        (seat.audioMuted, seat.pinOrder, seat.volume, seat.unrecordedBy) = (true, 3, 0.5, ["host"])
        seat.drawsSigns = true
        state.seats = [seat, RoomState.Seat(id: "b", name: "Bob", role: .viewer)]
        state.gone = ["troll"]
        state.removed = [
            RoomState.Removal(address: "192.0.2.7", device: ["tcp 7"], isRefused: true),
            RoomState.Removal(identity: "eve"),
        ]
        state.chat = [RoomState.Message(id: "m", from: "a", name: "Ann", text: "hello", at: now - 5)]
        state.recordings = [RoomState.Recording(series: "first", part: 2, view: "main", startedBy: "a")]
        state.streams = [RoomState.Stream(url: "rtmp://live.example/app/key")]
        state.inputs = [RoomState.Input(url: "srt://camera.example:9000", name: "Stage", loops: true)]
        return state
    }

    @Test("comes back from its JSON as it was")
    func roundTrip() throws {
        #expect(try RoomState(json: state().encoded()) == state())
        let empty = RoomState(room: "r", meeting: "m", createdAt: now, savedAt: now)
        #expect(try RoomState(json: empty.encoded()) == empty)
    }

    @Test("is read without what is missing, unknown or broken")
    func tolerant() throws {
        let text = """
            {"version":1,"room":"r","meeting":"m","savedAt":1800000000,"later":{"x":[1]},"settings":{"locked":true,"new":1},
             "seats":[{"id":"a","name":"Ann","role":"king","volume":900,"audioMuted":"yes"},{"name":"nobody"},7,
                      {"id":"c","name":"\\u0000\\u202e","role":"viewer"}],
             "chat":[{"id":"m"},{"id":"n","from":"a","text":"hi","at":1}],"recordings":[{"series":""},{"series":"s","part":-4}],
             "gone":["x",1],"removed":[7,{"identity":"eve"},{"address":9}],"streams":"none"}
            """
        let read = try RoomState(json: Array(text.utf8))
        #expect(read.settings.locked == true && read.settings.pin == nil)
        // A role that is not known has the fewest rights.
        #expect(read.seats.map(\.id) == ["a"] && read.seats[0].role == .viewer && read.seats[0].volume == 1)
        #expect(read.chat.map(\.id) == ["n"] && read.gone == ["x"] && read.streams.isEmpty)
        #expect(read.removed == [RoomState.Removal(identity: "eve")])
        #expect(read.recordings == [RoomState.Recording(series: "s")])
    }

    @Test(
        "is refused where it is none, of another version, or without readable settings",
        arguments: [
            "", "null", "[]", "{}", "\u{0}\u{1}", #"{"version":2,"room":"r","meeting":"m","savedAt":1}"#,
            #"{"version":0,"room":"r","meeting":"m","savedAt":1}"#, #"{"version":1,"room":"r","savedAt":1}"#,
            #"{"version":1,"room":"r","meeting":"m","savedAt":1,"settings":{"pin":1234}}"#,
        ])
    func rubbish(text: String) {
        #expect(throws: BadRoomState.self) { try RoomState(json: Array(text.utf8)) }
    }

    @Test("states of the neighbouring versions are read, unless they say that they need a newer server")
    func versions() throws {
        // As servers before `needs` wrote it.
        let older = #"{"version":1,"room":"r","meeting":"m","savedAt":1,"settings":{"pin":"4711","locked":true}}"#
        let read = try RoomState(json: Array(older.utf8))
        #expect(read.settings.pin == "4711" && read.settings.locked == true)
        // A later version added members that this one may leave out.
        let newer =
            #"{"version":\#(RoomState.version + 1),"needs":\#(RoomState.version),"room":"r","meeting":"m","savedAt":1,"#
            + #""new":{"a":[1]},"settings":{"pin":"4711","door":"new"},"seats":[{"id":"a","name":"Ann","role":"viewer","x":1}]}"#
        let tolerant = try RoomState(json: Array(newer.utf8))
        #expect(tolerant.settings.pin == "4711" && tolerant.seats.map(\.id) == ["a"])
        let needy = newer.replacing("\"needs\":\(RoomState.version)", with: "\"needs\":\(RoomState.version + 1)")
        do {
            _ = try RoomState(json: Array(needy.utf8))
            Issue.record("a state that this version misreads was read")
        } catch {
            #expect(error.isNewer)
        }
        #expect(String(decoding: state().encoded(), as: UTF8.self).contains("\"needs\":\(RoomState.needs)"))
    }

    @Test("is read or refused, whatever bytes of it are changed")
    func changed() {
        var random = SeededRandom(seed: 13)
        let good = state().encoded()
        var read = 0
        for _ in 0..<3000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0..<40, using: &random)) }
            guard let state = try? RoomState(json: bytes) else { continue }
            read += 1
            _ = try? state.settings.settings(on: RoomSettings()) { _ in true }
            _ = AbsentSeats(state, until: .zero)
        }
        #expect(read > 100)
    }

    @Test("is refused where it is too large, or nested without end")
    func large() {
        #expect(throws: BadRoomState.self) {
            try RoomState(json: [UInt8](repeating: 0x20, count: RoomState.maxBytes + 1))
        }
        #expect(throws: BadRoomState.self) {
            try RoomState(json: [UInt8](repeating: UInt8(ascii: "["), count: 200_000))
        }
    }

    @Test("has at most 512 KiB: the oldest messages go first, then viewers, and settings never")
    func bounded() throws {
        var large = state()
        large.chat = (0..<200).map { number in
            RoomState.Message(
                id: "\(number)", from: "a", name: "Ann", text: String(repeating: "\u{1}", count: 1000), at: now)
        }
        let fewer = try RoomState(json: large.encoded())
        #expect(large.encoded().count <= RoomState.maxBytes && fewer.seats == large.seats)
        #expect(!fewer.chat.isEmpty && fewer.chat.count < 200 && fewer.chat.last?.id == "199")

        large.seats += (0..<6000).map { number in
            RoomState.Seat(id: "viewer-\(number)", name: String(repeating: "v", count: 64), role: .viewer)
        }
        let fewest = try RoomState(json: large.encoded())
        #expect(fewest.chat.isEmpty && fewest.seats.map(\.id) == ["a"] && fewest.settings == large.settings)
    }

    @Test("settings are checked as a request's; a layout that is not here is the server's own")
    func settings() throws {
        var base = RoomSettings()
        base.layout = "column"
        let known = try state().settings.settings(on: base) { $0 == "single" }
        #expect(known.layout == "column" && known.locked && known.pin?.matches("1234") == true)
        #expect(known.views["wall"]?.layout == "single" && known.views["wall"]?.renditions?.count == 1)
        for change in [
            { (settings: inout RoomState.Settings) in settings.width = 100_000_000 }, { $0.pin = "1" },
            { $0.admit = "king" }, { $0.maxParticipants = -1 }, { $0.views = ["MAIN/": RoomState.View()] },
            { $0.views = ["a": RoomState.View(width: .max)] },
        ] {
            var broken = state().settings
            change(&broken)
            #expect(throws: ConferenceError.self) { try broken.settings(on: base) { _ in true } }
        }
    }

    @Test("numbers that cannot be gone on with count as missing")
    func extremes() throws {
        let text = """
            {"version":1,"room":"r","meeting":"m","savedAt":800000060,"createdAt":1e300,
             "settings":{"views":{"wall":{"renditions":[{"height":180,"bitrate":9223372036854775807},{"height":180,"bitrate":100000}]}}},
             "seats":[{"id":"a","name":"Ann","pinOrder":9223372036854775807},{"id":"b","name":"Bob","pinOrder":-1}],
             "chat":[{"id":"m","from":"a","text":"hi","at":-1e300},{"id":"n","from":"a","text":"hi","at":800000000}]}
            """
        let read = try RoomState(json: Array(text.utf8))
        #expect(read.createdAt == read.savedAt && read.chat.map(\.id) == ["n"])
        #expect(read.seats.map(\.pinOrder) == [nil, nil])
        #expect(try read.settings.settings(on: RoomSettings()) { _ in true }.views["wall"]?.renditions?.count == 1)
        #expect(throws: BadRoomState.self) {
            try RoomState(json: Array(#"{"version":1,"room":"r","meeting":"m","savedAt":1e300}"#.utf8))
        }
    }

    @Test("says nothing about who is there after a quarter of an hour, also by a clock that is ahead")
    func age() {
        #expect(!state().isStale(at: now + 899) && state().isStale(at: now + 901) && state().isStale(at: now - 901))
    }
}
