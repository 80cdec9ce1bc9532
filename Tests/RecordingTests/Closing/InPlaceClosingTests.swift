import Basics
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Recording

@Suite struct InPlaceClosingTests {
    private func recorder(_ file: String, audio: RecordingAudio = .aac) throws -> MP4Recorder {
        try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25, audio: audio,
            onFailure: { Issue.record("\($0)") })
    }

    /// A fragmented file as after a crash.
    private func fragments(_ directory: ScratchDirectory, audio: RecordingAudio = .aac) async throws -> [UInt8] {
        let recorder = try recorder(directory.file("whole.mp4"), audio: audio)
        try FlashAndBeep().feed(recorder, 0..<6000)
        _ = await recorder.duration()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.file("whole.mp4")))
        _ = try await recorder.finish()
        return Array(bytes)
    }

    private func inode(_ path: String) -> UInt64 {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// Copies of the descriptors that this process has of a file, as a child has them until its program begins.
    private func copies(of path: String) -> [Int32] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let own = numbers.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)) == path
        }
        return own.compactMap(Int32.init).map { dup($0) }
    }

    @Test("A recording is closed while a child is being spawned")
    func spawning() async throws {
        let directory = ScratchDirectory()
        let path = directory.file("a.mp4")
        let recorder = try recorder(path)
        let child = copies(of: path)
        defer { for descriptor in child { close(descriptor) } }
        #expect(child.count == 1)
        try FlashAndBeep().feed(recorder, 0..<2000)
        _ = try await recorder.finish()
        #expect(try RecordingRepair.check(file: path).closedProperly)
    }

    @Test("A large file is closed in place, and decodes like its copy", arguments: RecordingAudio.allCases)
    func same(audio: RecordingAudio) async throws {
        let directory = ScratchDirectory()
        let (file, copy) = (directory.file("a.mp4"), directory.file("copy.mp4"))
        let bytes = try await fragments(directory, audio: audio)
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        try MP4Closing.copy(file, into: copy)
        let before = inode(file)
        let report = try MP4Closing.close(file, copyLimit: 1000)
        #expect(inode(file) == before)
        let checked = try RecordingRepair.check(file: file)
        let copied = try RecordingRepair.check(file: copy)
        #expect(checked.closedProperly && checked.bytes == report.bytes)
        #expect(
            report.tracks.map(\.codec) == ["h264", audio.rawValue]
                && report.tracks.map(\.width) == [FlashAndBeep.width, 0])
        for (a, b) in zip(report.tracks, checked.tracks) {
            #expect(a.packetCount == b.packetCount && a.codec == b.codec)
            #expect(abs((a.end - b.end).inSeconds) < 0.03 && abs((a.start - b.start).inSeconds) < 0.002, "\(a) \(b)")
        }
        for (a, b) in zip(checked.tracks, copied.tracks) {
            // The copy with Opus omits a packet that only ends the encoder.
            #expect(
                a.packetCount - b.packetCount == (a.codec == "opus" ? 1 : 0)
                    && a.keyframeCount - b.keyframeCount == (a.codec == "opus" ? 1 : 0))
        }
        let (own, others) = (try Onsets(file), try Onsets(copy))
        #expect(own.flashes == others.flashes && own.pictureCount == others.pictureCount)
        #expect(
            zip(own.beeps, others.beeps).allSatisfy { abs($0 - $1) < 0.001 } && own.beeps.count == others.beeps.count)
        #expect(try #require(own.worstOffset) < 0.025)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == [
                "a.mp4", "copy.mp4", "whole.mp4",
            ])
    }

    @Test("A file that is cut at any byte keeps its complete fragments")
    func cut() async throws {
        let directory = ScratchDirectory()
        let bytes = try await fragments(directory)
        for cut in [bytes.count - 1, bytes.count - 700, bytes.count * 3 / 4, bytes.count / 2] {
            let file = directory.file("cut-\(cut).mp4")
            try Data(bytes.prefix(cut)).write(to: URL(fileURLWithPath: file))
            _ = try InPlaceClosing.close(file)
            #expect(try RecordingRepair.check(file: file).closedProperly)
            #expect(try #require(try Onsets(file).worstOffset) < 0.045)
        }
        for cut in [0, 7, 30, 500] {
            let file = directory.file("short-\(cut).mp4")
            try Data(bytes.prefix(cut)).write(to: URL(fileURLWithPath: file))
            #expect(throws: RecordingError.self) { try InPlaceClosing.close(file) }
        }
    }

    @Test("A crash between the two writes leaves a file that plays and can be closed", arguments: [0, 3])
    func crash(chapterCount: Int) async throws {
        let chapters = (0..<chapterCount).map { RecordingChapter(at: Double($0), title: "\($0)", isMark: false) }
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let bytes = try await fragments(directory)
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        let whole = try InPlaceClosing.close(file, chapters: chapters)
        var half = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
        // The head of the first `moov` is not overwritten yet.
        half.replaceSubrange(0..<100, with: bytes[0..<100])
        for length in [half.count, half.count - 20] {
            try Data(half.prefix(length)).write(to: URL(fileURLWithPath: file))
            #expect(!RecordingRepair.isClosed(file))
            #expect(try Onsets(file).flashes.count >= 4)
            #expect(try InPlaceClosing.close(file, chapters: chapters).bytes == whole.bytes)
            #expect(RecordingRepair.isClosed(file))
            #expect(try MP4Input(path: file).chapters.map(\.title) == chapters.map(\.title))
        }
    }

    @Test("A header with any byte changed is refused or closed, and nothing traps")
    func garbage() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let bytes = try await fragments(directory)
        var random = SeededRandom(seed: 7)
        for _ in 0..<400 {
            var broken = bytes
            for _ in 0..<3 { broken[Int(random.next() % 3000)] = UInt8(truncatingIfNeeded: random.next()) }
            try Data(broken).write(to: URL(fileURLWithPath: file))
            _ = try? InPlaceClosing.close(file)
        }
    }

    @Test("A file that is still written is not closed")
    func inUse() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try recorder(file)
        try FlashAndBeep().feed(recorder, 0..<3000)
        _ = await recorder.duration()
        for limit in [0, Int.max] {
            #expect(throws: RecordingError.inUse(path: file)) { try MP4Closing.close(file, copyLimit: limit) }
        }
        #expect(try await recorder.finish().failure == nil)
    }
}
