import Basics
import Foundation
import Glibc
import Recording
import RoomMedia
import TestSupport
import Testing
import Threads

@testable import Conference

/// Recordings of a whole conference without any peer: permissions, rates, and faults of the disk.
@Suite("The life of recordings", .serialized)
struct RecordingLifeRealTimeTests {
    private func withSmallRooms(
        _ scratch: ScratchDirectory, _ disk: TestDisk? = nil, diskTimeout: Duration = .seconds(10),
        change: (inout ConferenceConfiguration) -> Void = { _ in },
        _ body: (Conference) async throws -> Void
    ) async throws {
        try await withConference(
            { settings in
                settings.rooms.settings.width = 320
                settings.rooms.settings.height = 180
                settings.video.renditions = [.init(height: 180, bitRate: .kilobits(150))]
                change(&settings)
            }, in: scratch, disk: disk, diskTimeout: diskTimeout, body)
    }

    /// A recording that is paused from its start gets no picture.
    private func recordNothing(_ conference: Conference, _ room: String) async throws -> RecordingInfo {
        // Nor is one encoded between the start and the pause: the pool's threads wait.
        let pool = conference.media.pool
        let (held, mayGoOn) = (Condition(0), Condition(false))
        for _ in 0..<pool.threads {
            SerialLane(pool: pool, meter: StageMeter("test"), limit: 1).submit {
                held.withLock(waking: .all) { $0 += 1 }
                let _: Void? = mayGoOn.wait { $0 ? () : nil }
            }
        }
        defer { mayGoOn.withLock(waking: .all) { $0 = true } }
        #expect(await eventually { held.withLock { $0 } == pool.threads })
        let recording = try await conference.recordings.start(room)
        try conference.recordings.pause(recording.id)
        mayGoOn.withLock(waking: .all) { $0 = true }
        return try await conference.recordings.stop(recording.id)
    }

    private func slowRoom(_ conference: Conference, _ id: String) throws {
        var change = RoomSettingsChange()
        change.framesPerSecond = 1
        try conference.rooms.create(id, change)
    }

    private func metric(_ conference: Conference, _ name: String, _ labels: [String: String] = [:]) -> Double? {
        conference.metrics().first { sample in
            sample.name == name && labels.allSatisfy { sample.labels[$0.key] == $0.value }
        }?.value
    }

    @Test("starts are limited by room and minute, and a refused start leaves nothing behind")
    func starts() async throws {
        let scratch = ScratchDirectory(isMade: false)
        try await withSmallRooms(scratch, change: { $0.recording.startsPerMinute = 1 }) { conference in
            try slowRoom(conference, "r")
            let ended = try await recordNothing(conference, "r")
            #expect(ended.state == .failed && ended.failure != nil)
            #expect(conference.recordings.recording(ended.id) == nil)
            #expect(scratch.files.isEmpty && conference.recordings.list().isEmpty)
            for _ in 0..<3 {
                let error = await #expect(throws: ConferenceError.self) { try await conference.recordings.start("r") }
                #expect(error?.kind == "tooFast" && (error?.retryAfter ?? .zero) > .zero)
            }
            try conference.rooms.end("r")
            try slowRoom(conference, "r")
            await #expect(throws: ConferenceError.self) { try await conference.recordings.start("r") }
            #expect(metric(conference, "tessera_recordings_refused_total", ["reason": "rate"]) == 4)
            #expect(scratch.files.isEmpty)
            try slowRoom(conference, "other")
            _ = try await recordNothing(conference, "other")
        }
    }

    @Test("two starts at once give one recording")
    func atOnce() async throws {
        let scratch = ScratchDirectory(isMade: false)
        let disk = TestDisk()
        try await withSmallRooms(scratch, disk) { conference in
            try slowRoom(conference, "r")
            disk.block()
            let first = Task { try await conference.recordings.start("r") }
            #expect(await eventually { !scratch.files.isEmpty })
            await #expect(throws: ConferenceError.recordingRunning("r")) { try await conference.recordings.start("r") }
            disk.unblock()
            #expect(try await first.value.state == .recording)
        }
    }

    @Test("a finished recording is listed with its file, and cannot be paused or resumed")
    func finished() async throws {
        let scratch = ScratchDirectory(isMade: false)
        try await withSmallRooms(scratch) { conference in
            try conference.rooms.create("r", RoomSettingsChange())
            let recording = try await conference.recordings.start("r")
            #expect(recording.file == recording.id + ".mp4")
            #expect(try conference.recordings.path(of: recording.id) == scratch.path + "/" + recording.file)
            var wider = RoomSettingsChange()
            wider.width = 640
            #expect { try conference.rooms.update("r", wider) } throws: { ($0 as? ConferenceError)?.kind == "conflict" }
            try await Task.sleep(for: .seconds(1.2))
            #expect(try conference.recordings.pause(recording.id).state == .paused)
            let stopped = try await conference.recordings.stop(recording.id)
            #expect(stopped.state == .finished && stopped.failure == nil && stopped.dropped.isEmpty, "\(stopped)")
            let listed = try #require(conference.recordings.list().first)
            #expect(
                listed.id == stopped.id && listed.state == .finished && listed.bytes == stopped.bytes
                    && listed.file == recording.file)
            #expect(throws: ConferenceError.recordingNotRunning(recording.id)) {
                try conference.recordings.pause(recording.id)
            }
            #expect(throws: ConferenceError.recordingNotFound("none")) { try conference.recordings.pause("none") }
            let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann", role: .moderator)) { _ in }
            await #expect { try await ann.record(.pause) } throws: { ($0 as? ConferenceError)?.kind == "conflict" }
            let bob = try conference.join(AdmittedJoin(room: "r", name: "Bob")) { _ in }
            await #expect { try await bob.record(.start) } throws: { ($0 as? ConferenceError)?.kind == "forbidden" }
        }
    }

    @Test("a disk that hangs delays neither joins nor events, and a start is refused in time")
    func blockedStart() async throws {
        let scratch = ScratchDirectory(isMade: false)
        let disk = TestDisk()
        disk.block()
        try await withSmallRooms(
            scratch, disk, diskTimeout: .milliseconds(300), change: { $0.recording.start = .onFirstJoin }
        ) { conference in
            // Each of these joins wants a recording of its room.
            for number in 0..<4 {
                let told = Guarded(false)
                _ = try conference.join(AdmittedJoin(room: "r\(number)", name: "Ann")) { event in
                    if case .participants = event.event { told.withLock { $0 = true } }
                }
                #expect(await eventually(.seconds(5)) { told.withLock { $0 } })
            }
            try conference.rooms.create("more", RoomSettingsChange())
            let error = await #expect(throws: ConferenceError.self) { try await conference.recordings.start("more") }
            #expect(error?.kind == "atCapacity" && error?.retryAfter != nil)
            #expect(conference.recordings.list().count <= 1)
            #expect((metric(conference, "tessera_recordings_refused_total", ["reason": "disk"]) ?? 0) >= 1)
            disk.unblock()
            // A recording that began too late is removed.
            #expect(await eventually { scratch.files.isEmpty && conference.recordings.list().isEmpty })
            #expect(try await conference.recordings.start("more").state == .recording)
        }
    }

    @Test("a disk that hangs during a recording delays the end of that recording and nothing else")
    func blockedMiddle() async throws {
        let scratch = ScratchDirectory(isMade: false)
        let disk = TestDisk()
        try await withSmallRooms(scratch, disk) { conference in
            for room in ["a", "b"] { try conference.rooms.create(room, RoomSettingsChange()) }
            let recording = try await conference.recordings.start("a")
            disk.block()
            try await Task.sleep(for: .seconds(1.5))
            let isStopped = Guarded(false)
            let stop = Task {
                let info = try await conference.recordings.stop(recording.id)
                isStopped.withLock { $0 = true }
                return info
            }
            #expect(await eventually { conference.rooms.room("a")?.recording == nil })
            for room in ["a", "b"] { _ = try await conference.rooms.snapshot(room) }
            _ = try conference.join(AdmittedJoin(room: "a", name: "Ann")) { _ in }
            #expect(!isStopped.withLock { $0 })
            disk.unblock()
            let info = try await stop.value
            #expect(info.state == .finished && (info.duration ?? .zero) > .seconds(1), "\(info)")
        }
    }

    @Test(
        "when the disk gets full, running recordings end with a reason before the reserve, and new ones are refused"
    )
    func lowSpace() async throws {
        let scratch = ScratchDirectory(isMade: false)
        let disk = TestDisk()
        try await withSmallRooms(scratch, disk, change: { $0.recording.minimumFree = 2 << 30 }) { conference in
            let errors = Guarded<[String]>([])
            for room in ["a", "b"] {
                _ = try conference.join(AdmittedJoin(room: room, name: "Ann")) { event in
                    if case .error(let error) = event.event { errors.withLock { $0.append(error.message) } }
                }
            }
            let ids = [try await conference.recordings.start("a").id, try await conference.recordings.start("b").id]
            try await Task.sleep(for: .seconds(1.5))
            disk.setFree(1 << 30)
            for id in ids {
                #expect(await eventually { conference.recordings.recording(id)?.state == .finished })
                let info = try #require(conference.recordings.recording(id))
                #expect(
                    info.failure?.contains("2 GiB are to be") == true && info.failure?.contains(scratch.path) == false
                        && info.bytes ?? 0 > 0,
                    "\(info)")
            }
            #expect(await eventually { errors.withLock { $0.count } == 2 })
            #expect(conference.rooms.room("a")?.recording == nil)
            let error = await #expect(throws: ConferenceError.self) { try await conference.recordings.start("a") }
            #expect(
                error?.kind == "atCapacity" && error?.message.contains("2 GiB") == true
                    && error?.message.contains("minimumFree") == true)
            #expect(metric(conference, "tessera_recordings_refused_total", ["reason": "space"]) == 1)
            #expect(metric(conference, "tessera_recording_disk_free_bytes") == Double(1 << 30))
            disk.setFree(100 << 30)
            #expect(try await conference.recordings.start("a").state == .recording)
        }
    }

    @Test(
        "the server starts and serves calls while the directory does not answer, and repairs recordings beside them"
    )
    func directoryHangs() async throws {
        let scratch = ScratchDirectory(isMade: false)
        var left: [String] = []
        try await withSmallRooms(scratch) { conference in
            try conference.rooms.create("r", RoomSettingsChange())
            let recording = try await conference.recordings.start("r")
            let path = scratch.path + "/" + recording.file
            #expect(
                await eventually {
                    ((try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0) > 1000
                })
            for number in 0..<5 {
                left.append("left-\(number)")
                try FileManager.default.copyItem(atPath: path, toPath: scratch.path + "/left-\(number).mp4")
            }
            try await conference.recordings.stop(recording.id)
        }
        // Reading a FIFO blocks until another process writes to it.
        let pipe = scratch.path + "/hangs.json"
        try #require(mkfifo(pipe, 0o600) == 0)
        try await withSmallRooms(scratch, diskTimeout: .milliseconds(300)) { conference in
            try conference.rooms.create("r", RoomSettingsChange())
            _ = try await conference.rooms.snapshot("r")
            #expect(conference.recordings.list().isEmpty)
            await #expect(throws: ConferenceError.self) { try await conference.recordings.start("r") }
            let writer = open(pipe, O_WRONLY)
            close(writer)
            try? FileManager.default.removeItem(atPath: pipe)
            #expect(await eventually { left.allSatisfy { conference.recordings.recording($0)?.state == .finished } })
            #expect(await eventually { metric(conference, "tessera_recording_repairs_waiting") == 0 })
            for id in left {
                #expect(try RecordingRepair.check(file: conference.recordings.path(of: id)).closedProperly)
            }
            #expect(try await conference.recordings.start("r").state == .recording)
            #expect(conference.recordings.list(limit: 2).count == 2)
            #expect(conference.recordings.list(before: conference.recordings.list(limit: 2).last?.id).count == 5)
        }
    }
}
