import Basics
import Codecs
import Foundation
import Recording
import TestSupport
import Testing

@testable import Conference
@testable import RoomMedia

/// Several recordings of one room at once.
@Suite("Several recordings of a room", .serialized)
struct SeveralRecordingsRealTimeTests {
    private func withRoom(
        _ change: (inout ConferenceConfiguration) -> Void = { _ in }, disk: TestDisk? = nil,
        in scratch: ScratchDirectory = ScratchDirectory(isMade: false), _ body: (Conference) async throws -> Void
    ) async throws {
        try await withConference(
            { settings in
                settings.rooms.settings.width = 320
                settings.rooms.settings.height = 180
                var small = ViewSettings()
                (small.layout, small.width, small.height) = ("single", 192, 108)
                settings.rooms.settings.views = ["small": small]
                settings.rooms.emptyTimeout = .seconds(60)
                settings.video.renditions = [.init(height: 180, bitRate: .kilobits(150))]
                settings.recording.startsPerMinute = 100
                change(&settings)
            }, in: scratch, disk: disk
        ) { conference in
            try conference.rooms.create("r", RoomSettingsChange())
            try await body(conference)
        }
    }

    private func encoders(_ conference: Conference) -> Int { conference.rooms.room("r")?.renditions.count ?? -1 }

    @Test("those of one view share its encode, another view costs one more, and audio alone none")
    func encodes() async throws {
        try await withRoom { conference in
            let audio = try await conference.recordings.start("r", RecordingRequest(audioOnly: true))
            #expect(audio.audioOnly && audio.file.hasSuffix(".m4a") && audio.view == nil)
            #expect(encoders(conference) == 0)
            let first = try await conference.recordings.start("r", RecordingRequest(view: "main"))
            #expect(first.view == "main")
            #expect(await eventually { encoders(conference) == 1 })
            var more: [RecordingInfo] = []
            for _ in 0..<5 { more.append(try await conference.recordings.start("r", RecordingRequest(tracks: true))) }
            #expect(encoders(conference) == 1)
            more.append(try await conference.recordings.start("r", RecordingRequest(view: "small")))
            #expect(await eventually { encoders(conference) == 2 })
            let room = try #require(conference.rooms.room("r"))
            #expect(room.recordings.count == 8 && room.recording?.id == audio.id)
            #expect(room.views.filter(\.isRecorded).map(\.shown.view).sorted() == ["main", "small"])
            // The bound, and what has no such view.
            let error = await #expect(throws: ConferenceError.self) {
                try await conference.recordings.start("r", RecordingRequest(view: "main"))
            }
            #expect(error?.kind == "conflict" && error?.message.contains("recording.perRoom") == true, "\(error)")
            await #expect {
                try await conference.recordings.start("r", RecordingRequest(view: "none"))
            } throws: {
                ($0 as? ConferenceError)?.kind == "unknownView"
            }
            var wider = RoomSettingsChange()
            wider.views = ["small": nil]
            #expect { try conference.rooms.update("r", wider) } throws: { ($0 as? ConferenceError)?.kind == "conflict" }
            try await Task.sleep(for: .seconds(1.5))
            for recording in [audio, first] + more {
                let ended = try await conference.recordings.stop(recording.id)
                #expect(ended.state == .finished && (ended.duration ?? .zero) > .seconds(1), "\(ended)")
                let path = try conference.recordings.path(of: recording.id)
                let report = try RecordingRepair.check(file: path)
                #expect(report.closedProperly)
                #expect(report.tracks.map(\.codec) == (recording.audioOnly ? ["aac"] : ["h264", "aac"]), "\(report)")
                if recording.view == "small" { #expect(report.tracks.first?.height == 108) }
            }
            #expect(conference.rooms.room("r")?.recordings.isEmpty == true && encoders(conference) == 0)
            try conference.rooms.update("r", wider)
        }
    }

    @Test("each is paused and stopped by itself, and the room counts as recorded while any runs")
    func control() async throws {
        try await withRoom { conference in
            let told = Guarded<[(String?, [String])]>([])
            let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann", role: .moderator)) {
                if case .recording(let one, let all) = $0.event {
                    told.withLock { $0.append((one?.id, all.map { "\($0.id) \($0.state.rawValue)" })) }
                }
            }
            try await ann.record(.start)
            let first = try #require(conference.rooms.room("r")?.recording)
            await #expect(throws: ConferenceError.recordingRunning("r")) { try await ann.record(.start) }
            await #expect(throws: ConferenceError.recordingRunning("r")) { try await conference.recordings.start("r") }
            let second = try await conference.recordings.start("r", RecordingRequest(audioOnly: true))
            #expect(!ann.startsRecording && ann.runningRecordings.map(\.id) == [first.id, second.id])
            // Paused, it is no longer the one that is shown.
            try await ann.record(.pause)
            #expect(conference.recordings.recording(first.id)?.state == .paused)
            #expect(conference.rooms.room("r")?.recording?.id == second.id)
            try await ann.record(.resume)
            #expect(conference.recordings.recording(first.id)?.state == .recording)
            #expect(conference.rooms.room("r")?.recording?.id == first.id)
            // Without any media a recording would end as failed.
            try await Task.sleep(for: .seconds(1))
            try await ann.record(.pause, second.id)
            #expect(conference.recordings.recording(second.id)?.state == .paused)
            try ann.mark("here")
            await #expect(throws: ConferenceError.recordingNotRunning("none")) { try await ann.record(.stop, "none") }
            try await ann.record(.stop, first.id)
            #expect(await eventually { conference.recordings.recording(first.id)?.state == .finished })
            #expect(conference.rooms.room("r")?.recording?.id == second.id)
            let timeline = try String(
                contentsOfFile: conference.recordings.timelinePath(of: first.id, asText: false), encoding: .utf8)
            #expect(timeline.contains("here"))
            #expect(try ann.recordings().map(\.id) == [second.id, first.id])
            try conference.rooms.end("r")
            #expect(await eventually { conference.recordings.recording(second.id)?.state == .finished })
            let last = try #require(told.withLock { $0.last })
            #expect(last.0 == second.id && last.1 == ["\(second.id) paused"], "\(told.withLock { $0 })")
        }
    }

    @Test("a pre-roll goes on beside audio alone, and is the first recording's of its view")
    func preRoll() async throws {
        try await withRoom({ $0.recording.preRoll = .seconds(3) }) { conference in
            _ = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            let audio = try await conference.recordings.start("r", RecordingRequest(audioOnly: true))
            try await Task.sleep(for: .seconds(2))
            #expect(audio.preRoll == .zero && conference.rooms.room("r")?.preRoll == .seconds(3))
            let first = try await conference.recordings.start("r", RecordingRequest())
            #expect(first.preRoll > .milliseconds(500), "\(first)")
            let second = try await conference.recordings.start("r", RecordingRequest())
            #expect(second.preRoll == .zero)
            for id in [first.id, second.id] { try await conference.recordings.stop(id) }
            #expect(conference.rooms.room("r")?.preRoll == .seconds(3))
            // What is said while any recording is paused is not kept.
            try conference.recordings.pause(audio.id)
            #expect(conference.rooms.room("r")?.preRoll == .zero)
            try conference.recordings.resume(audio.id)
            #expect(conference.rooms.room("r")?.preRoll == .seconds(3))
        }
    }

    @Test("an entry tells for how long the server was overloaded, while it is recorded and afterwards")
    func overloaded() async throws {
        try await withRoom { conference in
            // Before anything is drawn, which is not late.
            let overload = conference.media.overload
            for second in 0..<10 where overload.level < .halfRate {
                overload.ticked(isLate: true)
                _ = overload.evaluate(at: .zero + .seconds(second))
            }
            let recording = try await conference.recordings.start("r")
            #expect((recording.frames?.wanted ?? 0) > 0 && recording.frames?.overloaded == 0)
            #expect(await eventually { (conference.recordings.recording(recording.id)?.frames?.overloaded ?? 0) > 0.5 })
            let ended = try await conference.recordings.stop(recording.id)
            #expect(ended.state == .finished && (ended.frames?.overloaded ?? 0) > 0.4, "\(ended)")
            #expect((ended.frames?.perSecond ?? 0) > 0, "\(ended)")
            #expect(conference.recordings.list().first?.frames == ended.frames, "in the catalogue too")
        }
    }

    @Test("eight of them with tracks outlast a disk that stalls for five seconds, and the call does not notice")
    func stall() async throws {
        let disk = TestDisk()
        try await withRoom(disk: disk) { conference in
            let ann = try LoopbackClient(codec: .vp8, colour: (81, 90, 220), tone: 600)
            let seat = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            try await ann.call { try await seat.offer($0) }
            #expect(await eventually { ann.seen.frames > 3 })
            let wishes =
                [RecordingRequest(audioOnly: true, tracks: true), RecordingRequest(view: "small")]
                + Array(repeating: RecordingRequest(tracks: true), count: 6)
            let before = encoders(conference)
            var recordings: [RecordingInfo] = []
            for wish in wishes { recordings.append(try await conference.recordings.start("r", wish)) }
            try await Task.sleep(for: .seconds(1))
            // Of the recorded view and of `small`, as H.264; Ann takes VP8.
            #expect(encoders(conference) == before + 2, "\(conference.rooms.room("r")?.renditions ?? [])")
            disk.block()
            let seen = (frames: ann.seen.frames, samples: ann.seen.audio.count)
            try await Task.sleep(for: .seconds(5))
            let (frames, samples) = (ann.seen.frames - seen.frames, ann.seen.audio.count - seen.samples)
            #expect(frames > 30 && samples > 220_000, "\(frames) \(samples)")
            disk.unblock()
            for recording in recordings {
                let ended = try await conference.recordings.stop(recording.id)
                #expect(ended.state == .finished && ended.dropped.isEmpty, "\(ended)")
                #expect((ended.duration ?? .zero) > .seconds(5), "\(ended)")
                let kinds = ended.tracks.map(\.kind.rawValue).sorted()
                let wanted = recording.audioOnly ? ["audio"] : recording.view == "small" ? [] : ["audio", "camera"]
                #expect(kinds == wanted, "\(ended)")
                for (index, track) in ended.tracks.enumerated() {
                    #expect(
                        (track.duration ?? 0) > 5 && track.name == "Ann" && track.participant == seat.id, "\(track)")
                    let path = try conference.recordings.path(of: recording.id, track: index + 1)
                    let reader = try MediaFileReader(path: path, decode: true)
                    #expect(try reader.next() != nil)
                }
            }
            ann.stop()
        }
    }
}
