import Basics
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Recording

@Suite(.serialized) struct RecordingCatalogueTests {
    @Test("Entries survive a restart, and their ids never leave the directory")
    func entries() throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.file("new"))
        let entry = try catalogue.begin(room: "../../Küche & Co", at: Date(timeIntervalSince1970: 1_751_600_000))
        #expect(entry.id.hasPrefix("20250704-033320-") && !entry.id.contains("/") && !entry.id.contains("."))
        let again = try RecordingCatalogue(directory: directory.file("new"))
        var left = entry
        left.state = .repairing
        #expect(again.list() == [left] && again.entry(entry.id)?.room == "../../Küche & Co")
        #expect(throws: RecordingError.self) { try again.finish("nothing", .failure(.unknown(id: ""))) }
        again.remove(entry.id)
        #expect(try RecordingCatalogue(directory: directory.file("new")).list().isEmpty)
    }

    @Test("The ids of a node of a cluster begin with it, and outlive a restart")
    func node() throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.file("node"), node: "east-1.b")
        let entry = try catalogue.begin(room: "kitchen", at: Date(timeIntervalSince1970: 1_751_600_000))
        #expect(entry.id.hasPrefix("east-1.b-20250704-033320-kitchen-") && entry.file == entry.id + ".mp4")
        let again = try RecordingCatalogue(directory: directory.file("node"), node: "east-1.b")
        #expect(again.list().map(\.id) == [entry.id])
    }

    @Test("The end of a recording is known even where its sidecar cannot be written")
    func fullDisk() throws {
        let directory = ScratchDirectory()
        let disk = FakeDisk()
        let catalogue = try RecordingCatalogue(directory: directory.file("full"), disk: disk.disk)
        let kept = try catalogue.begin(room: "kept")
        let failed = try catalogue.begin(room: "failed")
        disk.fail(ENOSPC)
        let summary = RecordingSummary(
            file: catalogue.path(of: kept), files: [catalogue.path(of: kept)], duration: .seconds(2), bytes: 7,
            tracks: ["h264"],
            failure: nil)
        #expect(throws: RecordingError.self) { try catalogue.finish(kept.id, .success(summary)) }
        #expect(throws: RecordingError.self) { try catalogue.finish(failed.id, .failure(.gone(path: "x"))) }
        #expect(catalogue.entry(kept.id)?.state == .finished && catalogue.entry(kept.id)?.bytes == 7)
        #expect(catalogue.entry(failed.id)?.state == .failed)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.file("full")).count == 2,
            "the old sidecars, and nothing half")
    }

    @Test("Only the owner and the group may read files and directory, whatever the umask", arguments: [0, 0o077])
    func modes(umask mask: mode_t) throws {
        let directory = ScratchDirectory()
        let old = umask(mask)
        defer { umask(old) }
        let catalogue = try RecordingCatalogue(directory: directory.file("new"))
        let entry = try catalogue.begin(room: "r")
        let recorder = try MP4Recorder(
            file: catalogue.path(of: entry), width: 160, height: 96, framesPerSecond: 25, onFailure: { _ in })
        defer { withExtendedLifetime(recorder) {} }
        func mode(_ path: String) -> mode_t {
            var status = stat()
            return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
        }
        #expect(mode(directory.file("new")) == 0o750)
        #expect(mode(catalogue.path(of: entry)) == 0o640)
        #expect(mode(directory.file("new/\(entry.id).json")) == 0o640)
    }

    @Test("A recording without media leaves no trace; a failed one leaves an entry with its reason")
    func traces() throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path)
        let empty = try catalogue.begin(room: "empty")
        #expect(try catalogue.finish(empty.id, .failure(.nothingRecorded(path: catalogue.path(of: empty)))) == nil)
        let full = try catalogue.begin(room: "full")
        #expect(try catalogue.finish(full.id, .failure(.diskFull(path: catalogue.path(of: full)))) == nil)
        #expect(catalogue.list().isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)

        let failed = try catalogue.begin(room: "failed", at: Date(timeIntervalSince1970: 1_751_600_000))
        let path = catalogue.path(of: failed)
        let summary = RecordingSummary(
            file: path, files: [path], duration: .seconds(2), bytes: 7, tracks: ["h264"],
            dropped: RecordingLosses(video: 3, audio: 2),
            failure: .diskFull(path: path))
        let entry = try #require(try catalogue.finish(failed.id, .success(summary)))
        #expect(
            entry.state == .failed && entry.message?.contains(failed.file) == true
                && entry.message?.contains(directory.path) == false)
        let again = try RecordingCatalogue(directory: directory.path).list()
        #expect(again == [entry] && again.first?.dropped == RecordingLosses(video: 3, audio: 2))
        let closed = try catalogue.begin(room: "closed")
        var orderly = summary
        orderly.failure = .lowSpace(directory: directory.path, free: 1, wanted: 2)
        #expect(try catalogue.finish(closed.id, .success(orderly))?.state == .finished)
    }

    @Test("A clock that is set back changes neither order nor names")
    func clock() throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path)
        let noon = Date(timeIntervalSince1970: 1_751_600_000)
        // An hour later the clock shows the same time, and the random mark is the same.
        var marks: [UInt16] = [0x1111, 0x1111, 0x1111, 0x2222]
        let first = try catalogue.begin(room: "r", at: noon) { marks.removeFirst() }
        try Data([1]).write(to: URL(fileURLWithPath: catalogue.path(of: first)))
        let second = try catalogue.begin(room: "r", at: noon) { marks.removeFirst() }
        #expect(marks.isEmpty && first.id != second.id)
        let third = try catalogue.begin(room: "r", at: noon - 3600)
        #expect(catalogue.list().map(\.id) == [third.id, second.id, first.id])
        let reopened = try RecordingCatalogue(directory: directory.path)
        #expect(reopened.list().map(\.id) == [third.id, second.id, first.id])
        let fourth = try reopened.begin(room: "r", at: noon - 7200)
        #expect(reopened.list().first?.id == fourth.id)
    }

    @Test("The list has pages, and the number of recordings is limited")
    func pages() throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path, capacity: 5)
        let ids = try (0..<5).map { try catalogue.begin(room: "r\($0)").id }
        #expect(catalogue.list(limit: 2).map(\.id) == [ids[4], ids[3]])
        #expect(catalogue.list(before: ids[3], limit: 2).map(\.id) == [ids[2], ids[1]])
        #expect(catalogue.list(before: ids[0], limit: 2).isEmpty && catalogue.list(before: "none").isEmpty)
        #expect(throws: RecordingError.tooMany(directory: directory.path, count: 5)) { try catalogue.begin(room: "r") }
        #expect(try RecordingCatalogue(directory: directory.path, capacity: 3).count == 3)
    }

    @Test("A sidecar of an older version, without numbers and losses, is read")
    func oldSidecar() throws {
        let directory = ScratchDirectory()
        let text = """
            {"bytes": 7, "duration": 2.5, "file": "old.mp4", "files": ["old.mp4"], "id": "old", "room": "r", "startedAt": "2025-07-04T03:33:20Z",
             "state": "finished", "wasRecovered": false}
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory.file("old.json")))
        try Data(text.replacing("old.mp4", with: "../old.mp4").replacing(#""old""#, with: #""out""#).utf8)
            .write(to: URL(fileURLWithPath: directory.file("out.json")))
        let catalogue = try RecordingCatalogue(directory: directory.path)
        #expect(catalogue.list().map(\.id) == ["old"])
        #expect(try catalogue.begin(room: "r").number == 1)
        #expect(catalogue.list().map(\.id).last == "old")
    }

    @Test("Recordings that a crash left open are closed while new ones begin")
    func recovery() async throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path)
        let entry = try catalogue.begin(room: "kitchen")
        let lost = try catalogue.begin(room: "lost")
        try catalogue.note(entry.id) { $0.dropped = RecordingLosses(video: 3) }
        let recorder = try MP4Recorder(
            file: catalogue.path(of: entry), width: FlashAndBeep.width, height: FlashAndBeep.height,
            framesPerSecond: 25,
            onFailure: { Issue.record("\($0)") })
        try FlashAndBeep().feed(recorder, 0..<4000)
        _ = await recorder.duration()
        // Files as after `kill -9`: fragments, one file without a sidecar, and an interrupted closing.
        let crashed = ScratchDirectory()
        for name in [entry.file, entry.id + ".json", lost.id + ".json"] {
            try FileManager.default.copyItem(atPath: directory.file(name), toPath: crashed.file(name))
        }
        try FileManager.default.copyItem(atPath: directory.file(entry.file), toPath: crashed.file("orphan.mp4"))
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: crashed.file(entry.file + MP4Closing.closingSuffix)))
        _ = try await recorder.finish()

        let reopened = try RecordingCatalogue(directory: crashed.path)
        #expect(reopened.entry(entry.id)?.state == .repairing)
        let repairs = RecordingRepairs(reopened)
        #expect(repairs.waiting == 2)
        let begun = try reopened.begin(room: "kitchen")
        let running = try MP4Recorder(
            file: reopened.path(of: begun), width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            onFailure: { Issue.record("\($0)") })
        try FlashAndBeep().feed(running, 0..<3000)
        _ = await running.duration()
        var left: [Int] = []
        repairs.run(onClosed: { left.append($1) })
        #expect(left == [2, 1, 0] && repairs.waiting == 0)
        let mended = try #require(reopened.entry(entry.id))
        #expect(mended.state == .finished && mended.wasRecovered && mended.duration ?? 0 > 2.5)
        #expect(mended.dropped == RecordingLosses(video: 3), "losses before a crash are known after it")
        #expect(mended.parts == [RecordingPart(file: mended.file, duration: mended.duration, bytes: mended.bytes)])
        #expect(try RecordingRepair.check(file: crashed.file(entry.file)).closedProperly)
        #expect(reopened.entry("orphan")?.state == .finished)
        #expect(reopened.entry(lost.id) == nil, "nothing was in it")
        #expect(!FileManager.default.fileExists(atPath: crashed.file(entry.file + MP4Closing.closingSuffix)))
        #expect(!FileManager.default.fileExists(atPath: crashed.file(lost.id + ".json")))
        #expect(reopened.entry(begun.id)?.state == .recording)
        #expect(try await running.finish().failure == nil)
        let third = RecordingRepairs(try RecordingCatalogue(directory: crashed.path))
        #expect(third.waiting == 1, "the one that did not finish in the catalogue")
        third.run(while: { false })
        #expect(third.waiting == 1)
    }

    @Test("A recording that a full disk left open is closed at the next start and keeps its state")
    func openFailed() async throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path)
        let entry = try catalogue.begin(room: "r")
        let path = catalogue.path(of: entry)
        let recorder = try MP4Recorder(
            file: path, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            onFailure: { Issue.record("\($0)") })
        try FlashAndBeep().feed(recorder, 0..<3000)
        _ = await recorder.duration()
        let fragments = try Data(contentsOf: URL(fileURLWithPath: path))
        var summary = try await recorder.finish()
        summary.failure = .diskFull(path: path)
        try catalogue.finish(entry.id, .success(summary))
        try fragments.write(to: URL(fileURLWithPath: path))
        let reopened = try RecordingCatalogue(directory: directory.path)
        RecordingRepairs(reopened).run()
        #expect(reopened.entry(entry.id)?.state == .failed && reopened.entry(entry.id)?.message != nil)
        #expect(try RecordingRepair.check(file: path).closedProperly)
    }
}
