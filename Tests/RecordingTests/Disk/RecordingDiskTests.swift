import Basics
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Recording

/// Disks that block, fail or disappear during a recording.
@Suite struct RecordingDiskTests {
    private func recorder(
        _ file: String, _ disk: FakeDisk, memory: RecordingMemory = RecordingMemory(),
        onFailure: @escaping @Sendable (RecordingError) -> Void
    ) throws -> MP4Recorder {
        try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25, disk: disk.disk,
            memory: memory,
            onFailure: onFailure)
    }

    @Test("With a blocked disk, losses are counted, memory is bounded, and the rest stays in sync")
    func blocked() async throws {
        let directory = ScratchDirectory()
        let disk = FakeDisk()
        let memory = RecordingMemory(perRecording: 100_000, inAll: 1_000_000)
        let recorder = try recorder(directory.file("a.mp4"), disk, memory: memory, onFailure: { Issue.record("\($0)") })
        let source = try FlashAndBeep()
        disk.block()
        // The call returns at once, although nothing is written.
        try source.feed(recorder, 0..<20_000)
        #expect(memory.waiting <= 100_000)
        let lost = recorder.losses
        #expect(lost.video > 0 && lost.audio > 20, "\(lost)")
        disk.unblock()
        _ = await recorder.duration()
        #expect(memory.waiting == 0)
        for start in stride(from: 20_000, to: 25_000, by: 400) {
            // The feed is no faster than the disk.
            try source.feed(recorder, start..<min(start + 400, 25_000))
            _ = await recorder.duration()
        }
        let summary = try await recorder.finish()
        #expect(summary.failure == nil && summary.dropped == recorder.losses && !summary.dropped.isEmpty)
        #expect(abs(summary.duration.inSeconds - 25) < 0.1)
        let onsets = try Onsets(directory.file("a.mp4"))
        let late = onsets.beeps.filter { $0 > 21.5 }
        #expect(late.count >= 3)
        for beep in late { #expect(onsets.flashes.contains { abs($0 - beep) < 0.045 }, "\(beep) \(onsets.flashes)") }
    }

    @Test("All recordings together stay within their memory limit")
    func memory() async throws {
        let directory = ScratchDirectory()
        let disk = FakeDisk()
        let memory = RecordingMemory(perRecording: 100_000, inAll: 150_000)
        disk.block()
        let recorders = try (0..<4).map {
            try recorder(directory.file("\($0).mp4"), disk, memory: memory, onFailure: { Issue.record("\($0)") })
        }
        for recorder in recorders { try FlashAndBeep().feed(recorder, 0..<3000) }
        #expect(memory.waiting <= 150_000)
        #expect(recorders.allSatisfy { !$0.losses.isEmpty })
        disk.unblock()
        for recorder in recorders { _ = await recorder.duration() }
        #expect(memory.waiting == 0)
    }

    @Test(
        "A disk that becomes read-only, or fails, ends the recording and keeps what there was",
        arguments: [EROFS, EIO, ENOSPC])
    func failing(code: Int32) async throws {
        let directory = ScratchDirectory()
        let disk = FakeDisk()
        let failures = Guarded<[RecordingError]>([])
        let recorder = try recorder(
            directory.file("a.mp4"), disk, onFailure: { error in failures.withLock { $0.append(error) } })
        let source = try FlashAndBeep()
        try source.feed(recorder, 0..<3000)
        _ = await recorder.duration()
        disk.fail(code)
        try source.feed(recorder, 3000..<6000)
        let summary = try await recorder.finish()
        #expect(failures.withLock { $0.count } == 1)
        #expect(summary.failure != nil && summary.failure?.isOrderlyEnd == false && summary.duration > .seconds(1))
        #expect(try RecordingRepair.check(file: summary.file).closedProperly)
    }

    @Test("A removed directory ends the recording within a second")
    func gone() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("sub/a.mp4")
        try FileManager.default.createDirectory(atPath: directory.file("sub"), withIntermediateDirectories: true)
        let failures = Guarded<[RecordingError]>([])
        let recorder = try recorder(file, FakeDisk(), onFailure: { error in failures.withLock { $0.append(error) } })
        let source = try FlashAndBeep()
        try source.feed(recorder, 0..<2500)
        _ = await recorder.duration()
        #expect(failures.withLock { $0.isEmpty })
        try FileManager.default.removeItem(atPath: directory.file("sub"))
        try source.feed(recorder, 2500..<4500)
        _ = await recorder.duration()
        #expect(failures.withLock { $0 } == [.gone(path: file)])
        let error = await #expect(throws: RecordingError.self) { try await recorder.finish() }
        #expect(error == .gone(path: file))
    }
}
