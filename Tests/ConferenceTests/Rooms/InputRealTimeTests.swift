import Basics
import Foundation
import TestSupport
import Testing

@testable import Conference

/// Inputs as members of rooms; that sources are opened and played is for the client tests.
@Suite struct InputRealTimeTests {
    /// A directory with a file that is no media.
    private func withInputs(_ body: (Conference) async throws -> Void) async throws {
        let scratch = ScratchDirectory()
        try Data("no media".utf8).write(to: URL(fileURLWithPath: scratch.path + "/a.mp4"))
        try await withConference({
            $0.inputs.directory = scratch.path
            $0.inputs.maxPerRoom = 2
            $0.inputs.hosts = []
            $0.rooms.emptyTimeout = .milliseconds(300)
        }) { conference in
            try conference.rooms.create("r", RoomSettingsChange())
            try await body(conference)
        }
    }

    /// The source of a listener comes never.
    private func listener(_ port: Int) -> InputRequest {
        InputRequest(url: "srt://0.0.0.0:\(port)?mode=listener&passphrase=sesamesesame", name: "Stage")
    }

    private func wait(_ what: String, until isTrue: () -> Bool) async throws {
        for _ in 0..<200 where !isTrue() { try await Task.sleep(for: .milliseconds(25)) }
        #expect(isTrue(), "\(what)")
    }

    @Test func `an input is a participant that does not keep the room`() async throws {
        try await withInputs { conference in
            let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann", role: .moderator)) { _ in }
            let input = try conference.inputs.add(listener(50_911), to: "r")
            #expect(!input.url.contains("sesame"))
            let members = conference.rooms.room("r")?.participants ?? []
            #expect(members.map(\.name) == ["Ann", "Stage"])
            #expect(members.map(\.isInput) == [false, true])
            #expect(members.last?.video == false && members.last?.audio == false, "nothing is open yet")
            #expect(members.last?.id == input.participant)
            // Mutes, pins and volumes are as everybody's; the role of a moderator is not.
            var change = ParticipantChange()
            (change.audioMuted, change.pinned, change.volume) = (true, true, 0.5)
            try conference.people.update(input.participant, in: "r", change)
            #expect(throws: ConferenceError.self) {
                try conference.registry["r"]?.change { slot throws(ConferenceError) in
                    _ = try slot.room.moderate(.changeRole(input.participant, .moderator), by: ann.id)
                }
            }
            ann.leave()
            try await wait("the room ends without people") { conference.rooms.room("r") == nil }
            #expect(throws: ConferenceError.roomNotFound("r")) { try conference.inputs.list("r") }
        }
    }

    @Test func `who removes the participant ends the input, and the other way round`() async throws {
        try await withInputs { conference in
            let first = try conference.inputs.add(listener(50_912), to: "r")
            let second = try conference.inputs.add(listener(50_913), to: "r")
            #expect(throws: ConferenceError.self) { try conference.inputs.add(listener(50_914), to: "r") }
            try conference.people.remove(first.participant, in: "r")
            #expect(try conference.inputs.input(first.id, in: "r").state == .ended)
            try conference.inputs.remove(second.id, from: "r")
            #expect(throws: ConferenceError.inputNotFound(second.id)) {
                try conference.inputs.input(second.id, in: "r")
            }
            #expect(conference.rooms.room("r")?.participants.isEmpty == true)
            _ = try conference.inputs.add(listener(50_914), to: "r")
        }
    }

    @Test func `a file that is no media fails, says why, and its participant leaves`() async throws {
        try await withInputs { conference in
            _ = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            let input = try conference.inputs.add(InputRequest(url: "a.mp4", name: "Film"), to: "r")
            try await wait("it fails") { (try? conference.inputs.input(input.id, in: "r").state) == .failed }
            #expect(try conference.inputs.input(input.id, in: "r").reason?.isEmpty == false)
            try await wait("it leaves") { conference.rooms.room("r")?.participants.count == 1 }
            let kinds = conference.events.page(after: 0, limit: 100).events.map { $0.event.happening.kind }
            #expect(kinds.contains(.inputStarted) && kinds.contains(.inputFailed))
            #expect(!kinds.contains(.inputLive))
        }
    }

    @Test(arguments: [
        "../a.mp4", "file:///etc/passwd", "http://127.0.0.1/x", "http://169.254.169.254/x", "nothing.mp4",
    ])
    func `what is not permitted is refused or fails`(url: String) async throws {
        try await withInputs { conference in
            _ = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            guard url == "nothing.mp4" else {
                #expect(throws: ConferenceError.self) {
                    try conference.inputs.add(InputRequest(url: url, name: "x"), to: "r")
                }
                return
            }
            let input = try conference.inputs.add(InputRequest(url: url, name: "x"), to: "r")
            try await wait("it fails") { (try? conference.inputs.input(input.id, in: "r").state) == .failed }
        }
    }
}
