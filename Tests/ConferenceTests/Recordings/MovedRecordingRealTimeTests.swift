import Basics
import Foundation
import Recording
import RoomMedia
import TestSupport
import Testing

@testable import Conference

/// A room that is recorded and moves: complete at the one server, gone on with at the other.
@Suite("Recordings of rooms that move", .serialized)
struct MovedRecordingRealTimeTests {
    private func withServer(_ secrets: TestSecrets, _ body: (Conference) async throws -> Void) async throws {
        try await withConference(
            {
                $0.seatSecrets = secrets
                ($0.rooms.settings.width, $0.rooms.settings.height) = (320, 180)
                $0.video.renditions = [.init(height: 180, bitRate: .kilobits(150))]
                $0.recording.start = .onFirstJoin
            }, in: ScratchDirectory(isMade: false), body)
    }

    @Test("the next part of its series begins with the first media, with the same wish, by the same participant")
    func series() async throws {
        let secrets = TestSecrets()
        try await withServer(secrets) { a in
            try await withServer(secrets) { b in
                var request = AdmittedJoin(room: "r", name: "Ann")
                (request.isNative, request.roleIsProven) = (true, false)
                let ann = try a.join(request) { _ in }
                #expect(await eventually { a.rooms.room("r")?.recordings.count == 1 })
                let own = try await a.recordings.start("r", RecordingRequest(audioOnly: true), by: ann.id)
                try a.recordings.pause(own.id)
                let usual = try #require(a.rooms.room("r")?.recordings.first)
                #expect(usual.series == usual.id && usual.partOfSeries == 1)

                let state = try #require(a.moves.state(of: "r"))
                try await a.moves.begin("r", within: .seconds(30))
                #expect(a.rooms.room("r")?.recordings.isEmpty == true)
                #expect(a.recordings.control.alive.isEmpty, "none is being closed any more")

                try b.moves.restore(RoomState(json: state.encoded()))
                let back = try b.resume(id: ann.id, secret: ann.resumeSecret) { _ in }
                #expect(back.startsRecording, "who is back is told that the recording goes on")
                try await Task.sleep(for: .milliseconds(500))
                #expect(b.rooms.room("r")?.recordings.isEmpty == true, "there is nothing to record yet")

                let client = try LoopbackClient(codec: .vp8, colour: (90, 90, 90), tone: 500)
                defer { client.stop() }
                try await client.call { try await back.offer($0) }
                #expect(await eventually { b.rooms.room("r")?.recordings.count == 2 })
                let parts = Dictionary(
                    (b.rooms.room("r")?.recordings ?? []).map { ($0.series, $0) }
                ) { first, _ in first }
                #expect(Set(parts.keys) == [usual.id, own.id])
                #expect(parts.values.allSatisfy { $0.partOfSeries == 2 && $0.id != $0.series })
                #expect(parts[own.id]?.audioOnly == true && parts[usual.id]?.audioOnly == false)
                #expect(await eventually { b.rooms.room("r")?.recordings.first { $0.audioOnly }?.state == .paused })
                #expect(b.registry["r"]?.read { $0.recording(parts[own.id]?.id ?? "")?.startedBy } == ann.id)

                // The next move has the third part, and the list on the disk knows the second.
                let id = try #require(parts[usual.id]?.id)
                #expect(b.moves.state(of: "r")?.recordings.map(\.part) == [2, 2])
                #expect(await eventually { client.seen.frames > 10 })
                #expect(try await b.recordings.stop(id).state == .finished)
                let stopped = try #require(b.recordings.list().first { $0.id == id })
                #expect(stopped.series == usual.id && stopped.endedBy == .stopped)
                let length = try #require(stopped.endedAt).timeIntervalSince(stopped.startedAt)
                #expect(length > 0 && length < 600)

                // A part whose room another node has says that it is not the last one.
                let last = try await b.recordings.start("r", RecordingRequest(), by: ann.id)
                let frames = client.seen.frames
                #expect(await eventually { client.seen.frames > frames + 30 })
                b.moves.lose(["r"])
                #expect(await eventually { b.recordings.list().first { $0.id == last.id }?.endedBy == .moved })
            }
        }
    }
}
