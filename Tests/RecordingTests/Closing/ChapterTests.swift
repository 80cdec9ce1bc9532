import Basics
import Foundation
import TestSupport
import Testing

@testable import Recording

@Suite("Chapters in files", .serialized)
struct ChapterTests {
    private func recorder(_ file: String, _ limits: RecordingLimits = RecordingLimits()) throws -> MP4Recorder {
        try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25, limits: limits,
            onFailure: { Issue.record("\($0)") })
    }

    private func note(_ recorder: MP4Recorder, _ kind: TimelineEvent.Kind, _ name: String, at millisecond: Int) {
        recorder.note(TimelineEvent(kind, participant: name, name: name), at: FlashAndBeep.instant(millisecond))
    }

    private func chapters(_ file: String) throws -> [RecordingChapter] { try MP4Input(path: file).chapters }

    @Test("A file closed by a copy and one closed in place have the same chapters", arguments: [Int.max, 0])
    func closing(copyLimit: Int) async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try recorder(file)
        try FlashAndBeep().feed(recorder, 0..<6000)
        _ = await recorder.duration()
        let orphan = directory.file("orphan.mp4")
        try FileManager.default.copyItem(atPath: file, toPath: orphan)
        _ = try await recorder.finish()
        let list = [
            RecordingChapter(at: 0, title: "Start", isMark: false),
            RecordingChapter(at: 1.5, title: "Zoë joined 🚀", isMark: false),
            RecordingChapter(at: 3.25, title: "", isMark: true),
            RecordingChapter(at: 4, title: String(repeating: "x", count: 250), isMark: true),
            RecordingChapter(at: 60, title: "after the end", isMark: true),
        ]
        let report = try MP4Closing.close(orphan, chapters: list, copyLimit: copyLimit)
        #expect(report.closedProperly && RecordingRepair.isClosed(orphan))
        #expect(report.tracks.count == 2)
        let read = try chapters(orphan)
        #expect(read.map(\.title) == list.dropLast().map(\.title))
        for (found, wanted) in zip(read, list) { #expect(abs(found.at - wanted.at) < 0.002) }
        // The list and the track are each enough alone: players read one or the other.
        for form in ["chpl", "tref"] {
            var bytes = try Data(contentsOf: URL(fileURLWithPath: orphan))
            while let place = bytes.range(of: Data(form.utf8)) {
                bytes.replaceSubrange(place, with: Data("free".utf8))
            }
            let other = directory.file("without-\(form).mp4")
            try bytes.write(to: URL(fileURLWithPath: other))
            #expect(try chapters(other).map(\.title) == read.map(\.title), "without \(form)")
        }
        // The chapters' texts are neither seen nor heard, and disturb nothing.
        let onsets = try Onsets(orphan)
        #expect(try #require(onsets.worstOffset) < 0.025 && onsets.pictureCount > 100)
        let again = directory.file("again.mp4")
        try RecordingRepair.repair(file: orphan, output: again)
        #expect(try chapters(again).map(\.title) == read.map(\.title), "a copy keeps them")
    }

    @Test("What happens during a recording is in its chapters, at its time without pauses, and beside it")
    func recorded() async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(directory.file("a.mp4"))
        let source = try FlashAndBeep()
        note(recorder, .joined, "Ann", at: -500)
        try source.feed(recorder, 0..<2000)
        note(recorder, .joined, "Bob", at: 2000)
        try source.feed(recorder, 2000..<3000)
        recorder.pause(at: FlashAndBeep.instant(3000))
        note(recorder, .mark, "while paused", at: 5000)
        recorder.resume(at: FlashAndBeep.instant(7520))
        if let frame = try source.frame(7520, keyframe: true) { recorder.append(frame) }
        try source.feed(recorder, 7560..<9520)
        note(recorder, .speaking, "Bob", at: 8520)
        note(recorder, .mark, "Vote", at: 8520)
        let summary = try await recorder.finish()
        let read = try chapters(summary.file)
        #expect(read.map(\.title) == ["Start", "Bob joined", "while paused", "Vote"])
        for (found, wanted) in zip(read, [0, 2, 3, 4]) { #expect(abs(found.at - Double(wanted)) < 0.05, "\(found)") }
        let timeline = try #require(TimelineFiles.read(base: directory.file("a")))
        #expect(timeline.participants.map(\.name) == ["Ann", "Bob"] && timeline.speakers.count == 1)
        #expect(abs(timeline.duration - summary.duration.inSeconds) < 0.001)
        let found = try RecordingExamination(file: summary.file, decoding: false)
        #expect(found.timeline == timeline && found.chapters == read && found.report.tracks.count == 2)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        #expect(names == ["a.mp4", "a.timeline.json", "a.vtt"], "the log of events is gone")
    }

    @Test("Each part has its own chapters; without an event there are none and no files")
    func parts() async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(directory.file("a.mp4"), RecordingLimits(segment: .seconds(3)))
        let source = try FlashAndBeep()
        note(recorder, .joined, "Ann", at: 0)
        try source.feed(recorder, 0..<2000)
        note(recorder, .joined, "Bob", at: 2000)
        try source.feed(recorder, 2000..<5000)
        note(recorder, .mark, "Vote", at: 5000)
        try source.feed(recorder, 5000..<7000)
        let summary = try await recorder.finish()
        let titles = try summary.files.map { try chapters($0).map(\.title) }
        #expect(titles == [["Start", "Bob joined"], ["Bob joined", "Vote"], ["Vote"]], "\(titles)")
        let plain = try self.recorder(directory.file("plain.mp4"))
        try source.feed(plain, 7000..<8000)
        #expect(try chapters(try await plain.finish().file).isEmpty)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!names.contains { $0.hasPrefix("plain") && $0 != "plain.mp4" })
    }

    @Test("After a crash the timeline is made of the events that were written")
    func crash() async throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path)
        let entry = try catalogue.begin(room: "r")
        let recorder = try recorder(catalogue.path(of: entry))
        note(recorder, .joined, "Ann", at: 0)
        try FlashAndBeep().feed(recorder, 0..<4000)
        note(recorder, .mark, "Vote", at: 2000)
        _ = await recorder.duration()
        let crashed = ScratchDirectory()
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
            try FileManager.default.copyItem(atPath: directory.file(name), toPath: crashed.file(name))
        }
        _ = try await recorder.finish()
        let reopened = try RecordingCatalogue(directory: crashed.path)
        RecordingRepairs(reopened).run()
        let file = reopened.path(of: try #require(reopened.entry(entry.id)))
        #expect(try chapters(file).map(\.title) == ["Start", "Vote"])
        let timeline = try #require(TimelineFiles.read(base: crashed.file(entry.id)))
        #expect(timeline.participants.map(\.name) == ["Ann"] && timeline.duration > 2.5)
        #expect(!FileManager.default.fileExists(atPath: crashed.file(entry.id + TimelineLog.suffix)))
        #expect(try RecordingCatalogue(directory: crashed.path).list().count == 1, "a timeline is no sidecar")
    }
}
