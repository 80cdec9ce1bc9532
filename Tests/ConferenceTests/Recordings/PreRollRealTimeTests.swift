import Basics
import Recording
import RoomMedia
import TestSupport
import Testing
import Threads

@testable import Conference

@Suite("Recordings that begin before their start", .serialized)
struct PreRollRealTimeTests {
    private func withRoom(
        _ preRoll: Duration = .seconds(3), _ body: (Conference) async throws -> Void
    ) async throws {
        try await withConference { settings in
            settings.rooms.settings.width = 320
            settings.rooms.settings.height = 180
            settings.rooms.create = .api
            settings.rooms.emptyTimeout = .seconds(60)
            settings.video.renditions = [.init(height: 180, bitRate: .kilobits(150))]
            settings.recording.preRoll = preRoll
        } _: { conference in
            try conference.rooms.create("r", RoomSettingsChange())
            try await body(conference)
        }
    }

    private func kept(_ conference: Conference) -> Double {
        conference.metrics().first { $0.name == "tessera_recording_preroll_bytes" }?.value ?? -1
    }

    @Test("a recording has the seconds before its start, and nothing of what an earlier one has or left out")
    func before() async throws {
        try await withRoom { conference in
            #expect(conference.rooms.room("r")?.preRoll == .zero, "nobody is in the room")
            let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            #expect(ann.preRoll == .seconds(3) && conference.rooms.room("r")?.preRoll == .seconds(3))
            try await Task.sleep(for: .seconds(3.5))
            #expect(kept(conference) > 100_000)
            let start = MonotonicClock.now()
            let first = try await conference.recordings.start("r")
            #expect(first.preRoll > .milliseconds(900) && first.preRoll <= .seconds(3), "\(first.preRoll)")
            #expect(conference.rooms.room("r")?.preRoll == .zero)
            #expect(await eventually { kept(conference) == 0 }, "the recording has it")
            try await Task.sleep(for: .seconds(1))
            let ended = try await conference.recordings.stop(first.id)
            let end = MonotonicClock.now()
            let length = try #require(ended.duration)
            // A frame lasts until the next one would come, also the last one.
            let longest = first.preRoll + (end - start) + .milliseconds(200)
            #expect(length > first.preRoll + .milliseconds(700) && length < longest, "\(length)")
            let stored = try #require(conference.recordings.recording(first.id)?.preRoll)
            #expect(abs((stored - first.preRoll).inSeconds) < 0.001, "also in its sidecar")
            // The next one begins anew.
            try await Task.sleep(for: .seconds(1))
            let second = try await conference.recordings.start("r")
            #expect(second.preRoll > .milliseconds(500), "\(second.preRoll)")
            #expect(second.preRoll < MonotonicClock.now() - start - .seconds(1), "\(second.preRoll)")
            // What is said in a pause is not kept for the next recording.
            try conference.recordings.pause(second.id)
            try await Task.sleep(for: .seconds(1))
            #expect(kept(conference) == 0)
            try await conference.recordings.stop(second.id)
            #expect(await eventually { kept(conference) > 0 })
            ann.leave()
            #expect(kept(conference) == 0 && conference.rooms.room("r")?.preRoll == .zero)
            #expect(conference.registry["r"]?.engine.isRunning == false)
        }
    }

    @Test("another size of the picture begins a new pre-roll, and without the setting nothing is kept")
    func changes() async throws {
        try await withRoom { conference in
            _ = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            #expect(await eventually { kept(conference) > 1000 })
            var wider = RoomSettingsChange()
            (wider.width, wider.height) = (640, 360)
            try conference.rooms.update("r", wider)
            try await Task.sleep(for: .seconds(1))
            let recording = try await conference.recordings.start("r")
            #expect(recording.preRoll < .milliseconds(1500))
            let ended = try await conference.recordings.stop(recording.id)
            let report = try RecordingRepair.check(file: conference.recordings.path(of: ended.id))
            #expect(report.closedProperly && report.tracks.first?.height == 360)
        }
        try await withRoom(.zero) { conference in
            _ = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            #expect(conference.registry["r"]?.engine.isRunning == false && kept(conference) == 0)
        }
    }
}
