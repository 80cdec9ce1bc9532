import Basics
import Codecs
import Foundation
import TestSupport
import Testing

@testable import Recording

@Suite(.serialized) struct MP4RecorderTests {
    private func recorder(
        _ file: String, audio: RecordingAudio = .aac, limits: RecordingLimits = RecordingLimits()
    ) throws -> MP4Recorder {
        try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25, audio: audio,
            limits: limits, onFailure: { Issue.record("\($0)") })
    }

    @Test(
        "A recording decodes to what was fed: length, flashes and beeps together, one size, an index",
        arguments: RecordingAudio.allCases)
    func whole(audio: RecordingAudio) async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try recorder(file, audio: audio)
        // The recording starts between two seconds: media before the first keyframe is not in it.
        try FlashAndBeep().feed(recorder, 520..<8520)
        let summary = try await recorder.finish()
        #expect(abs(summary.duration.inSeconds - 8) < 0.1 && summary.files == [file] && summary.failure == nil)
        #expect(summary.tracks == ["h264", audio.rawValue])
        let onsets = try Onsets(file)
        #expect(onsets.flashes.count == 8 && onsets.pictureCount == 200)
        #expect(try #require(onsets.worstOffset) < 0.025, "\(onsets.flashes) \(onsets.beeps)")
        #expect(abs(onsets.flashes[0] - 0.48) < 0.045)
        #expect(onsets.sizes == [[FlashAndBeep.width, FlashAndBeep.height]])
        #expect(abs(onsets.sampleCount - 384_000) < 2048)
        let report = try RecordingRepair.check(file: file)
        #expect(report.closedProperly && report.tracks[0].keyframeCount >= 8)
        let offsets = (try #require(report.avOffset).inSeconds, try #require(report.avOffsetAtEnd).inSeconds)
        #expect(abs(offsets.0) < 0.01 && abs(offsets.1) < 0.045, "\(offsets)")
        #expect(!FileManager.default.fileExists(atPath: file + MP4Closing.closingSuffix))
    }

    @Test("Where the last pictures are late, the last one that came is shown until the audio ends")
    func latePictures() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try recorder(file)
        try FlashAndBeep().feed(recorder, 0..<4000, video: { $0 < 3600 })
        _ = try await recorder.finish()
        let report = try RecordingRepair.check(file: file)
        #expect(report.closedProperly && abs(report.tracks[0].end.inSeconds - 4) < 0.03, "\(report.tracks)")
        // A packet of AAC has 21 ms.
        #expect(try #require(report.avOffsetAtEnd).inSeconds < 0.025)
    }

    @Test("With sizeMayChange, pictures of another size go into the same track, also after a crash")
    func sizes() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try MP4Recorder(
            file: file, width: 160, height: 96, framesPerSecond: 25, sizeMayChange: true,
            onFailure: { Issue.record("\($0)") })
        for (second, (width, height)) in [(160, 96), (320, 192), (160, 96), (640, 384)].enumerated() {
            let encoder = try makeVideoEncoder(
                VideoEncoderConfiguration(
                    codec: .h264, width: width, height: height, framesPerSecond: 25, bitRate: .kilobits(300)))
            let picture = Picture(width: width, height: height)
            for frame in 0..<25 {
                let now = FlashAndBeep.instant(second * 1000 + frame * 40)
                picture.fill(y: UInt8(40 + frame * 5), u: 128, v: 128)
                guard var coded = try encoder.encode(picture, timestamp: now.ticks(at: 90_000), forceKeyframe: false)
                else { continue }
                (coded.width, coded.height) = (width, height)
                recorder.append(coded)
            }
        }
        _ = await recorder.duration()
        let orphan = directory.file("orphan.mp4")
        let mended = directory.file("mended.mp4")
        try FileManager.default.copyItem(atPath: file, toPath: orphan)
        _ = try RecordingRepair.repair(file: orphan, output: mended)
        #expect(try Onsets(mended).sizes.isSuperset(of: [[160, 96], [320, 192]]))
        let summary = try await recorder.finish()
        #expect(summary.files == [file] && abs(summary.duration.inSeconds - 4) < 0.1)
        let onsets = try Onsets(file)
        #expect(onsets.pictureCount == 100)
        #expect(onsets.sizes == [[160, 96], [320, 192], [640, 384]])
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)).range(of: Data("avc3".utf8)) != nil)
    }

    @Test("A copy made at any moment and cut at any byte can be repaired")
    func crash() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try recorder(file)
        let source = try FlashAndBeep()
        try source.feed(recorder, 0..<6000)
        _ = await recorder.duration()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        for cut in [bytes.count, bytes.count - 1, bytes.count - 700, bytes.count * 3 / 4, bytes.count / 2] {
            let orphan = directory.file("orphan.mp4")
            let mended = directory.file("mended-\(cut).mp4")
            try bytes.prefix(cut).write(to: URL(fileURLWithPath: orphan))
            #expect(try RecordingRepair.check(file: orphan).closedProperly == false)
            let summary = try RecordingRepair.repair(file: orphan, output: mended)
            let report = try RecordingRepair.check(file: mended)
            #expect(report.closedProperly && report.tracks.count == 2)
            if cut == bytes.count { #expect(summary.duration >= .milliseconds(4500)) }
            let onsets = try Onsets(mended)
            #expect(!onsets.flashes.isEmpty)
            let pairs = zip(onsets.flashes, onsets.beeps)
            #expect(pairs.allSatisfy { abs($0 - $1) < 0.025 }, "\(cut): \(onsets.flashes) \(onsets.beeps)")
        }
        _ = try await recorder.finish()
    }

    @Test("Silence, missing ticks and missing pictures leave audio and video in sync")
    func holes() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try recorder(file)
        try FlashAndBeep().feed(
            recorder, 0..<10_000,
            audio: { !(1200..<3900).contains($0) && $0 % 460 != 0 },
            video: { !(5200..<6900).contains($0) || $0 % 1000 < 200 })
        let summary = try await recorder.finish()
        #expect(abs(summary.duration.inSeconds - 10) < 0.1)
        let onsets = try Onsets(file)
        #expect(onsets.flashes.count == 10)
        #expect(onsets.beeps.count == 8, "\(onsets.beeps)")
        for beep in onsets.beeps { #expect(onsets.flashes.contains { abs($0 - beep) < 0.045 }, "\(beep)") }
    }

    @Test("A recording without audio has a silent track as long as its video")
    func noAudio() async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(directory.file("a.mp4"))
        try FlashAndBeep().feed(recorder, 0..<5000, audio: { _ in false })
        _ = try await recorder.finish()
        let report = try RecordingRepair.check(file: directory.file("a.mp4"))
        let offset = try #require(report.avOffsetAtEnd).inSeconds
        #expect(abs(offset) < 0.045 && report.tracks.count == 2)
    }

    @Test("Audio that begins seconds later is at its time, in the fragments too")
    func lateAudio() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try recorder(file)
        try FlashAndBeep().feed(recorder, 0..<6000, audio: { $0 >= 2600 })
        _ = await recorder.duration()
        try FileManager.default.copyItem(atPath: file, toPath: directory.file("open.mp4"))
        _ = try await recorder.finish()
        for name in ["a.mp4", "open.mp4"] {
            let onsets = try Onsets(directory.file(name))
            #expect(onsets.beeps.count >= 2)
            for beep in onsets.beeps { #expect(onsets.flashes.contains { abs($0 - beep) < 0.025 }, "\(name) \(beep)") }
        }
    }

    @Test("Another encoder may take over in the middle")
    func newEncoder() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try recorder(file)
        try FlashAndBeep().feed(recorder, 0..<2000)
        try FlashAndBeep(framesPerSecond: 15, speed: .fast).feed(recorder, 2000..<5000)
        _ = try await recorder.finish()
        let onsets = try Onsets(file)
        #expect(onsets.pictureCount == 125 && onsets.flashes.count == 5)
        #expect(try #require(onsets.worstOffset) < 0.025)
    }

    @Test("A pause leaves no gap")
    func pause() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let wanted = Guarded(0)
        let recorder = try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            onKeyframeNeeded: { wanted.withLock { $0 += 1 } }, onFailure: { Issue.record("\($0)") })
        let source = try FlashAndBeep()
        try source.feed(recorder, 0..<3000)
        recorder.pause(at: FlashAndBeep.instant(3000))
        try source.feed(recorder, 3000..<7520)
        recorder.resume(at: FlashAndBeep.instant(7520))
        if let frame = try source.frame(7520, keyframe: true) { recorder.append(frame) }
        try source.feed(recorder, 7560..<10_520)
        let summary = try await recorder.finish()
        #expect(abs(summary.duration.inSeconds - 6) < 0.1)
        #expect(wanted.withLock { $0 } >= 1)
        let onsets = try Onsets(file)
        // Seconds 0, 1, 2, then 8, 9, 10 begin at 3.48, 4.48, 5.48.
        #expect(onsets.flashes.count == 6)
        #expect(try #require(onsets.worstOffset) < 0.025, "\(onsets.flashes) \(onsets.beeps)")
        #expect(abs(onsets.flashes[3] - 3.48) < 0.045)
    }

    @Test("Pictures before and after a pause are a frame apart, however short before the pause the last one was")
    func pauseAfterPicture() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try recorder(file)
        let source = try FlashAndBeep()
        try source.feed(recorder, 0..<2000)
        recorder.pause(at: FlashAndBeep.instant(1964))
        recorder.resume(at: FlashAndBeep.instant(4000))
        try source.feed(recorder, 4000..<6000)
        let summary = try await recorder.finish()
        #expect(abs(summary.duration.inSeconds - 4) < 0.1)
        let reader = try MediaFileReader(path: file)
        var times: [Int64] = []
        while let sample = try reader.next() { if case .video(let frame) = sample { times.append(frame.timestamp) } }
        #expect(times.count == 100)
        for (time, next) in zip(times, times.dropFirst()) { #expect(next - time >= 3590, "\(time) \(next)") }
        #expect(try #require(try Onsets(file).worstOffset) < 0.045)
    }

    @Test("Segments begin with a keyframe and follow each other without a gap")
    func segments() async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(directory.file("a.mp4"), limits: RecordingLimits(segment: .seconds(3)))
        try FlashAndBeep().feed(recorder, 0..<8000)
        let summary = try await recorder.finish()
        #expect(summary.files == ["a.mp4", "a-2.mp4", "a-3.mp4"].map(directory.file))
        #expect(abs(summary.duration.inSeconds - 8) < 0.1)
        for file in summary.files {
            #expect(try RecordingRepair.check(file: file).closedProperly)
            #expect(try #require(try Onsets(file).worstOffset) < 0.025)
        }
    }

    @Test("A directory that cannot be written is an error that names it")
    func unwritable() {
        let error = #expect(throws: RecordingError.self) { try recorder("/proc/nowhere/a.mp4") }
        #expect("\(error.map { "\($0)" } ?? "")".contains("/proc/nowhere/a.mp4"))
    }

    @Test("A full disk stops the recording, is reported once, and keeps the media so far")
    func fullDisk() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let failures = Guarded<[RecordingError]>([])
        let recorder = try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            disk: FakeDisk(free: 20_000).disk,
            onFailure: { error in failures.withLock { $0.append(error) } })
        try FlashAndBeep().feed(recorder, 0..<12_000)
        let summary = try await recorder.finish()
        #expect(failures.withLock { $0 } == [.diskFull(path: file)])
        #expect(summary.failure == .diskFull(path: file) && summary.duration > .seconds(1))
        #expect(try #require(try Onsets(file).worstOffset) < 0.045)
    }

    @Test("A recording without a keyframe leaves no file")
    func empty() async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(directory.file("a.mp4"))
        recorder.append(audio: FlashAndBeep.audio(0).samples, timestamp: FlashAndBeep.audio(0).timestamp)
        await #expect(throws: RecordingError.self) { try await recorder.finish() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }
}
