import Basics
import Foundation
import Recording
import RoomMedia
import TestSupport
import Testing

@testable import Conference

/// The recordings of one meeting: who gets them, and what becomes of them when everyone leaves.
@Suite("The recordings of a meeting", .serialized)
struct MeetingRecordingsRealTimeTests {
    private func withAPIRoom(
        _ change: (inout ConferenceConfiguration) -> Void, _ body: (Conference) async throws -> Void
    ) async throws {
        try await withConference { settings in
            settings.rooms.settings.width = 320
            settings.rooms.settings.height = 180
            settings.rooms.create = .api
            settings.video.renditions = [.init(height: 180, bitRate: .kilobits(150))]
            change(&settings)
        } _: { conference in
            try conference.rooms.create("r", RoomSettingsChange())
            try await body(conference)
        }
    }

    private func join(
        _ conference: Conference, _ name: String, _ role: Role = .participant, isProven: Bool = false
    ) throws -> Participant {
        var request = AdmittedJoin(
            room: "r", name: name, role: role, kind: role == .viewer ? .viewer : .participant)
        request.roleIsProven = isProven
        return try conference.join(request) { _ in }
    }

    @Test("who may record gets all of them with their parts, others their own, viewers none; the next meeting none")
    func whoGetsWhich() async throws {
        try await withAPIRoom {
            $0.rooms.emptyTimeout = .milliseconds(300)
            $0.recording.segment = .seconds(1)
        } _: { conference in
            let ann = try join(conference, "Ann")
            let guest = try join(conference, "Bob", isProven: true)
            let host = try join(conference, "Cy", .moderator, isProven: true)
            let viewer = try join(conference, "Dee", .viewer)
            #expect(try ann.recordings().isEmpty && host.recordings().isEmpty)
            try await ann.record(.start)
            #expect(try ann.recordings().map(\.state) == [.recording])
            // A complete part can be had while the recording runs, and the sidecar has it.
            #expect(await eventually { (try? ann.recordings().first?.files.count) ?? 0 >= 2 })
            let running = try #require(try ann.recordings().first)
            for part in 1...2 {
                let path = try conference.recordings.path(of: running.id, part: part)
                #expect(try RecordingRepair.check(file: path).closedProperly, "\(part)")
            }
            let catalogue = try #require(conference.recordings.control.catalogue)
            #expect(
                await eventually {
                    let stored = try? RecordingCatalogue(directory: catalogue.directory).entry(running.id)
                    return stored?.parts?.count ?? 0 >= 2
                })
            try await ann.record(.stop)
            #expect(await eventually { (try? ann.recordings().first?.state) == .finished })
            for seat in [ann, host] {
                let recording = try #require(try seat.recordings().first)
                #expect(recording.files.map(\.file).last == "\(recording.id)-\(recording.parts).mp4")
                #expect(recording.parts > 1 && recording.bytes ?? 0 > 0 && recording.duration ?? .zero > .seconds(1))
                let second = try conference.recordings.path(of: recording.id, part: 2)
                #expect(second.hasSuffix("-2.mp4") && FileManager.default.fileExists(atPath: second))
                for part in [0, -1, recording.parts + 1] {
                    #expect(throws: ConferenceError.recordingNotFound(recording.id)) {
                        try conference.recordings.path(of: recording.id, part: part)
                    }
                }
            }
            for seat in [guest, viewer] {
                #expect { try seat.recordings() } throws: { ($0 as? ConferenceError)?.kind == "forbidden" }
            }
            for seat in [ann, guest, host, viewer] { seat.leave() }
            #expect(throws: ConferenceError.self) { try ann.recordings() }
            #expect(await eventually { conference.registry["r"]?.read(\.remembersMeeting) == false })
            #expect(try join(conference, "Eve").recordings().isEmpty)
            #expect(conference.recordings.list().count == 1, "the administrator still has it")
        }
    }

    @Test("an empty room is not recorded, and its recording ends by itself")
    func emptyRoom() async throws {
        try await withAPIRoom {
            $0.rooms.emptyTimeout = .milliseconds(1500)
        } _: { conference in
            let ann = try join(conference, "Ann")
            let recording = try await conference.recordings.start("r")
            try await Task.sleep(for: .seconds(1.2))
            ann.leave()
            try await Task.sleep(for: .milliseconds(800))
            let bob = try join(conference, "Bob")
            #expect(conference.rooms.room("r")?.recording?.state == .recording)
            try await Task.sleep(for: .seconds(1.2))
            bob.leave()
            #expect(await eventually { conference.recordings.recording(recording.id)?.state == .finished })
            #expect(conference.rooms.room("r") != nil && conference.rooms.room("r")?.recording == nil)
            // 2.4 s with people; with the time without them it would be 4.7 s.
            let length = try #require(conference.recordings.recording(recording.id)?.duration)
            #expect(length > .seconds(1) && length < .seconds(3.3), "\(length)")
        }
    }

    @Test("a recording ends at its longest length, with the reason, and the next one can begin")
    func longest() async throws {
        try await withAPIRoom {
            $0.recording.maxLength = .seconds(1)
        } _: { conference in
            let ann = try join(conference, "Ann")
            let recording = try await conference.recordings.start("r")
            #expect(await eventually { conference.recordings.recording(recording.id)?.state == .finished })
            let ended = try #require(conference.recordings.recording(recording.id))
            #expect(ended.failure?.contains("recording.maxLength") == true, "\(ended)")
            #expect(ended.duration ?? .zero >= .seconds(1) && ended.duration ?? .zero < .seconds(2))
            #expect(ann.recording == nil)
            #expect(try await conference.recordings.start("r").state == .recording)
        }
    }

    @Test("a recording that waits for the first participant goes on, and a pause outlasts an empty room")
    func waiting() async throws {
        try await withAPIRoom {
            $0.rooms.emptyTimeout = .milliseconds(200)
        } _: { conference in
            let recording = try await conference.recordings.start("r")
            try await Task.sleep(for: .seconds(2.5))
            #expect(conference.rooms.room("r")?.recording?.id == recording.id)
            try conference.recordings.pause(recording.id)
            let ann = try join(conference, "Ann")
            #expect(ann.recording?.state == .paused)
            #expect(try conference.recordings.resume(recording.id).state == .recording)
        }
    }
}
