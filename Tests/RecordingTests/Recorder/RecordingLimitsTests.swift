import Basics
import Foundation
import TestSupport
import Testing

@testable import Recording

@Suite("The limits of a recording", .serialized)
struct RecordingLimitsTests {
    private struct Events {
        var keyframes = 0
        var parts: [[RecordingPart]] = []
        var failures: [RecordingError] = []
    }

    private func recorder(
        _ file: String, _ limits: RecordingLimits, _ events: Guarded<Events>
    ) throws -> MP4Recorder {
        try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25, limits: limits,
            onKeyframeNeeded: { events.withLock { $0.keyframes += 1 } },
            onParts: { parts in events.withLock { $0.parts.append(parts) } },
            onFailure: { error in events.withLock { $0.failures.append(error) } })
    }

    @Test(
        "at its longest length or largest size a recording ends in order, with a reason that names the setting",
        arguments: [
            (RecordingLimits(length: .seconds(4)), RecordingError.tooLong(limit: .seconds(4)), "recording.maxLength"),
            (RecordingLimits(size: 25_000), .tooLarge(limit: 25_000), "recording.maxSize"),
            (RecordingLimits(segment: .seconds(1), size: 25_000), .tooLarge(limit: 25_000), "24.4 KiB"),
            (RecordingLimits(segment: .seconds(1), length: .seconds(4)), .tooLong(limit: .seconds(4)), "4 s"),
        ])
    func ends(limits: RecordingLimits, error: RecordingError, word: String) async throws {
        let directory = ScratchDirectory()
        let events = Guarded(Events())
        let recorder = try recorder(directory.file("a.mp4"), limits, events)
        try FlashAndBeep().feed(recorder, 0..<12_000)
        let summary = try await recorder.finish()
        #expect(events.withLock { $0.failures } == [error])
        #expect(summary.failure == error && error.isOrderlyEnd && error.description.contains(word), "\(error)")
        #expect(summary.duration < .seconds(9))
        if limits.length > .zero {
            #expect(abs(summary.duration.inSeconds - limits.length.inSeconds) < 0.1, "\(summary.duration)")
        } else {
            #expect(summary.bytes > limits.size / 2 && summary.bytes < limits.size * 3 / 2, "\(summary.bytes)")
        }
        for file in summary.files {
            #expect(try RecordingRepair.check(file: file).closedProperly)
            #expect(try #require(try Onsets(file).worstOffset) < 0.045)
        }
    }

    @Test("each part is told as soon as it is complete, and begins with a keyframe that was requested once")
    func parts() async throws {
        let directory = ScratchDirectory()
        let events = Guarded(Events())
        let recorder = try recorder(directory.file("a.mp4"), RecordingLimits(segment: .milliseconds(2500)), events)
        // Keyframes come every second, so a part is due half a second before each.
        try FlashAndBeep().feed(recorder, 0..<8000)
        #expect(await eventually { events.withLock { $0.parts.last?.count } == 2 })
        #expect(events.withLock { $0.keyframes } == 2)
        let told = try #require(events.withLock { $0.parts.last })
        #expect(told.map(\.file) == ["a.mp4", "a-2.mp4"])
        for part in told { #expect(abs((part.duration ?? 0) - 3) < 0.05 && part.bytes ?? 0 > 1000, "\(part)") }
        let summary = try await recorder.finish()
        #expect(summary.parts.map(\.file) == ["a.mp4", "a-2.mp4", "a-3.mp4"])
        #expect(summary.parts.prefix(2) == told[...])
        #expect(summary.parts.reduce(0) { $0 + ($1.bytes ?? 0) } == summary.bytes)
    }

    @Test("no limit is no limit")
    func none() {
        #expect(RecordingLimits().reached(length: .seconds(1 << 40), size: .max) == nil)
        let limits = RecordingLimits(length: .seconds(7200), size: 1 << 30)
        #expect(limits.reached(length: .seconds(7199), size: 1 << 29) == nil)
        #expect(limits.reached(length: .seconds(7200), size: 1)?.description.contains("after 2 h,") == true)
        #expect(limits.reached(length: .zero, size: 1 << 30)?.description.contains("at 1 GiB,") == true)
    }
}
