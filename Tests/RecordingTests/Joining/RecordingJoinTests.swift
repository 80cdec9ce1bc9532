import Basics
import Foundation
import TestSupport
import Testing

@testable import Recording

/// Recordings of one meeting at several nodes, which have flashes and beeps at the whole seconds of the meeting.
@Suite struct RecordingJoinTests {
    private let directory = ScratchDirectory()

    /// Records the meeting's time from `start` to `end`, in milliseconds, and notes the entry.
    ///
    /// - Parameter ended: the time at which the node noted the end, in milliseconds.
    @discardableResult
    private func record(
        _ id: String, part: Int, _ start: Int, _ end: Int, ended: Int? = nil, width: Int = FlashAndBeep.width,
        audio: RecordingAudio = .aac, _ change: (inout RecordingEntry) -> Void = { _ in }
    ) async throws -> RecordingEntry {
        // Some tests record a part twice.
        try? FileManager.default.removeItem(atPath: directory.file(id + ".mp4"))
        let recorder = try MP4Recorder(
            file: directory.file(id + ".mp4"), width: width, height: FlashAndBeep.height, framesPerSecond: 25,
            audio: audio, onFailure: { Issue.record("\($0)") })
        try FlashAndBeep(width: width).feed(recorder, start..<end)
        let summary = try await recorder.finish()
        let began = 800_000_000 + Double(start) / 1000
        var entry = RecordingEntry(
            id: id, room: "r", file: id + ".mp4", files: [id + ".mp4"], state: .finished,
            startedAt: Date(timeIntervalSince1970: began.rounded(.down)), wasRecovered: false)
        (entry.began, entry.ended) = (began, 800_000_000 + Double(ended ?? end) / 1000)
        entry.duration = summary.duration.inSeconds
        if part > 1 { (entry.series, entry.seriesPart) = ("first", part) }
        change(&entry)
        try Sidecar.write(entry, to: directory.file(id + ".json"), .system)
        return entry
    }

    private func join(gap: Double = RecordingJoin.longestGap, isIncomplete: Bool = false) throws -> Onsets {
        let output = directory.file("joined.mp4")
        try? FileManager.default.removeItem(atPath: output)
        let summary = try RecordingJoin.join(
            "first", in: directory.path, output: output, gap: gap, isIncomplete: isIncomplete)
        #expect(summary.tracks.first == "h264" && RecordingRepair.isClosed(output))
        let holes = try RecordingExamination(file: output, decoding: false).gaps.filter { $0.kind == .audio }
        #expect(holes.isEmpty, "\(holes)")
        // A packet that is shown as long as a gap would be no hole: silence has packets as audio has, 46.9 a second of AAC.
        let audio = try #require(RecordingRepair.check(file: output).tracks.last)
        #expect(Double(audio.packetCount) > 45 * audio.end.inSeconds, "\(audio)")
        return try Onsets(output)
    }

    private func expect(_ onsets: Onsets, _ seconds: [Double], _ location: SourceLocation = #_sourceLocation) {
        for found in [onsets.flashes, onsets.beeps] {
            #expect(found.count == seconds.count, "\(found)", sourceLocation: location)
            for (time, second) in zip(found, seconds) {
                #expect(abs(time - second) < 0.05, "\(found)", sourceLocation: location)
            }
        }
        #expect((onsets.worstOffset ?? 1) < 0.045, "lips", sourceLocation: location)
    }

    @Test("Each part has its place by the clock, and between them is silence", arguments: RecordingAudio.allCases)
    func gaps(audio: RecordingAudio) async throws {
        try await record("first", part: 1, 0, 3000, audio: audio)
        try await record("b", part: 2, 7000, 9000, audio: audio)
        try await record("a", part: 3, 9000, 11_000, audio: audio)
        try expect(join(), [0, 1, 2, 7, 8, 9, 10])
        #expect(
            try RecordingExamination(file: directory.file("joined.mp4"), decoding: false).chapters.map(\.title)
                == ["Part 2", "Part 3"])
        try expect(join(gap: 1), [0, 1, 2, 4, 5, 6, 7])
    }

    @Test("Where two overlap, the later one counts")
    func overlaps() async throws {
        try await record("first", part: 1, 0, 6000)
        try await record("next", part: 2, 4000, 8000)
        try expect(join(), [0, 1, 2, 3, 4, 5, 6, 7])
    }

    @Test("A recording that was paused has less media than time")
    func pauses() async throws {
        try await record("first", part: 1, 0, 3000, ended: 20_000)
        try await record("next", part: 2, 22_000, 24_000)
        try expect(join(), [0, 1, 2, 5, 6])
    }

    @Test("What is missing, runs, is another picture or is no series is named, and nothing is written")
    func refusals() async throws {
        func refusal(_ series: String = "first", output: String = "joined.mp4", isIncomplete: Bool = false) -> String {
            do throws(RecordingError) {
                _ = try RecordingJoin.join(
                    series, in: directory.path, output: directory.file(output), isIncomplete: isIncomplete)
                return "joined"
            } catch {
                return error.description
            }
        }
        try await record("first", part: 1, 0, 2000)
        try await record("next", part: 3, 3000, 4000)
        #expect(refusal("other").contains("no recording other"))
        #expect(refusal().contains("part 2 of first is not there"))
        // One of them, by its name and by another path, and a file that has nothing to do with them.
        try Data().write(to: URL(fileURLWithPath: directory.file("other.mp4")))
        for output in ["next.mp4", "./next.mp4", "other.mp4"] {
            let words = refusal(output: output, isIncomplete: true)
            #expect(words.contains("it exists: choose another file") && !words.contains("permissions"), "\(words)")
        }
        try await record("small", part: 2, 2000, 3000, width: 96)
        #expect(refusal().contains("differ from those of the first part"))
        try await record("small", part: 2, 2000, 3000) { $0.state = .recording }
        #expect(refusal() == "joined", "its file is closed, though a crash kept that from the sidecar")
        try FileManager.default.removeItem(atPath: directory.file("joined.mp4"))
        try Data("no MP4".utf8).write(to: URL(fileURLWithPath: directory.file("small.mp4")))
        #expect(refusal().contains("is not complete"))
        try await record("small", part: 2, 2000, 3000) { $0.files = ["../../etc/passwd"] }
        #expect(refusal().contains("passwd cannot be read") && !refusal().contains("etc"))
        #expect(refusal("first").contains("passwd"))
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!left.contains { $0.contains("joined") || $0.contains("closing") }, "\(left)")
    }
}
