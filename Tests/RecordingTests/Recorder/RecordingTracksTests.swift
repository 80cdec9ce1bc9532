import Basics
import Codecs
import Foundation
import TestSupport
import Testing

@testable import Recording

/// Tracks beside a recording: on its timeline, through losses, pauses and crashes.
@Suite(.serialized) struct RecordingTracksTests {
    private func recorder(
        _ directory: ScratchDirectory, _ name: String = "a.mp4", content: RecordingContent = .init(tracks: true),
        limits: RecordingLimits = RecordingLimits(), disk: RecordingDisk = .system,
        memory: RecordingMemory = RecordingMemory(),
        onTracks: @escaping @Sendable ([RecordingTrack]) -> Void = { _ in }
    ) throws -> MP4Recorder {
        try MP4Recorder(
            file: directory.file(name), width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            limits: limits, content: content, disk: disk, memory: memory, onTracks: onTracks,
            onFailure: { Issue.record("\($0)") })
    }

    /// The flashes and beeps of a track in the recording's time.
    private func onsets(_ track: RecordingTrack, in directory: ScratchDirectory) throws -> [Double] {
        let found = try Onsets(directory.file(track.file))
        return (track.kind == .audio ? found.beeps : found.flashes).map { $0 + track.start }
    }

    /// The times of `found` that have no partner in `wanted` within 20 ms.
    private func strays(_ found: [Double], _ wanted: [Double]) -> [Double] {
        found.filter { time in !wanted.contains { abs($0 - time) <= 0.02 } }
    }

    @Test(
        "Sound and pictures of each participant are aligned with the recording, after lost frames and through a pause",
        arguments: [VideoCodec.vp8, .h264])
    func aligned(codec: VideoCodec) async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(directory)
        recorder.set(names: ["ann": "Ann"])
        let (ann, feed) = (try Performer("ann", codec), try FlashAndBeep())
        // One frame in twenty, never the one with which a flash begins.
        ann.loses = { $0 / Performer.period % 20 == 7 && $0 % 1000 >= 80 }
        try feed.feed(recorder, 520..<4520, [ann])
        recorder.pause(at: FlashAndBeep.instant(4530))
        try feed.feed(recorder, 4540..<7300, [ann])
        recorder.resume(at: FlashAndBeep.instant(7310))
        ann.delay = 130
        try feed.feed(recorder, 7320..<10520, [ann])
        let summary = try await recorder.finish()
        let tracks = summary.participantTracks
        #expect(tracks.map(\.kind).sorted { $0.rawValue < $1.rawValue } == [.audio, .camera], "\(tracks)")
        #expect(tracks.allSatisfy { $0.name == "Ann" && $0.participant == "ann" && $0.bytes ?? 0 > 0 })
        let composite = try Onsets(directory.file("a.mp4"))
        #expect(composite.beeps.count == 7 && composite.flashes.count == 7, "\(composite)")
        for track in tracks {
            #expect(track.codec == (track.kind == .audio ? "opus" : codec.rawValue))
            let found = try onsets(track, in: directory)
            #expect(found.count == composite.beeps.count, "\(track) \(found) \(composite.beeps)")
            #expect(strays(found, composite.beeps).isEmpty, "\(track) \(found) \(composite.beeps)")
        }
        let audio = try #require(tracks.first { $0.kind == .audio })
        let end = audio.start + (audio.duration ?? 0)
        #expect(abs(end - summary.duration.inSeconds) < 0.1, "\(audio) \(summary.duration)")
        // The keyframes are those of the beginning, of the losses and of the pause.
        #expect(ann.keyframes > 2 && summary.dropped.isEmpty)
    }

    @Test("Who may not be recorded has no track, and one that becomes so has none from there on")
    func notRecorded() async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(directory)
        let (ann, bob, feed) = (try Performer("ann"), try Performer("bob"), try FlashAndBeep())
        bob.isRecorded = false
        try feed.feed(recorder, 0..<2500, [ann, bob])
        ann.isRecorded = false
        try feed.feed(recorder, 2500..<5000, [ann, bob])
        ann.isRecorded = true
        try feed.feed(recorder, 5000..<7000, [ann, bob])
        let summary = try await recorder.finish()
        let tracks = summary.participantTracks
        #expect(Set(tracks.map(\.participant)) == ["ann"] && tracks.count == 4, "\(tracks)")
        for track in tracks where track.start < 2.5 {
            #expect(track.start + (track.duration ?? 9) < 2.6, "\(track)")
        }
        for track in tracks where track.start >= 2.5 { #expect(track.start >= 4.9, "\(track)") }
    }

    @Test("A recording of audio alone has tracks of audio alone on its timeline, and a new part cuts none")
    func audioOnly() async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(
            directory, "a.m4a", content: .init(audioOnly: true, tracks: true),
            limits: RecordingLimits(segment: .seconds(3)))
        let (ann, feed) = (try Performer("ann"), try FlashAndBeep())
        try feed.feed(recorder, 520..<4520, [ann])
        recorder.pause(at: FlashAndBeep.instant(4520))
        try feed.feed(recorder, 4520..<6300, [ann])
        recorder.resume(at: FlashAndBeep.instant(6300))
        try feed.feed(recorder, 6300..<8520, [ann])
        let summary = try await recorder.finish()
        #expect(summary.tracks == ["aac"], "\(summary)")
        #expect(summary.parts.map(\.file) == ["a.m4a", "a-2.m4a", "a-3.m4a"], "\(summary.parts)")
        #expect(abs(summary.duration.inSeconds - 6.22) < 0.1, "\(summary.duration)")
        var beeps: [Double] = []
        var start = 0.0
        for part in summary.parts {
            beeps += try Onsets(directory.file(part.file)).beeps.map { $0 + start }
            start += part.duration ?? 0
        }
        // The camera is in a track only where the recording has pictures: `RoomRecording` asks for none.
        let track = try #require(summary.participantTracks.first { $0.kind == .audio })
        let found = try onsets(track, in: directory)
        #expect(found.count == 6 && beeps.count == 6 && strays(found, beeps).isEmpty, "\(found) \(beeps)")
    }

    @Test("After a crash the tracks play up to the last two seconds, and are complete after the repair")
    func crash() async throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path)
        let entry = try catalogue.begin(room: "r", view: "main", content: .init(tracks: true))
        let recorder = try recorder(directory, entry.file) { tracks in
            try? catalogue.note(entry.id) { $0.tracks = tracks }
        }
        recorder.set(names: ["ann": "Ann"])
        let (ann, feed) = (try Performer("ann", .h264), try FlashAndBeep())
        try feed.feed(recorder, 520..<8520, [ann])
        _ = await recorder.duration()
        // What a killed server leaves.
        let left = ScratchDirectory()
        for file in directory.files {
            try FileManager.default.copyItem(atPath: directory.file(file), toPath: left.file(file))
        }
        let mended = try RecordingCatalogue(directory: left.path)
        RecordingRepairs(mended).run()
        let repaired = try #require(mended.entry(entry.id))
        #expect(repaired.state == .finished && repaired.wasRecovered && repaired.tracks?.count == 2, "\(repaired)")
        let composite = try Onsets(left.file(entry.file))
        for track in repaired.tracks ?? [] {
            #expect(track.start + (track.duration ?? 0) > 6 && track.bytes ?? 0 > 0 && track.name == "Ann", "\(track)")
            let found = try onsets(track, in: left)
            #expect(found.count >= 6 && strays(found.filter { $0 < 5.9 }, composite.beeps).isEmpty, "\(found)")
        }
        #expect(repaired.allFiles.count == 3 && repaired.allBytes > repaired.bytes ?? 0)
        _ = try await recorder.finish()
    }

    @Test("The samples that prime a decoder come before the start, once, also after a repair's copy")
    func priming() async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(directory)
        let (ann, feed) = (try Performer("ann"), try FlashAndBeep())
        try feed.feed(recorder, 520..<4520, [ann])
        let summary = try await recorder.finish()
        let track = try #require(summary.participantTracks.first { $0.kind == .audio })
        let path = directory.file(track.file)
        #expect(try Matroska(path) == Matroska(codecDelay: 6_500_000, firstBlock: 0))
        let length = track.duration ?? 0
        for _ in 0..<2 {
            #expect(abs(try TrackClosing.close(path, reserve: nil).inSeconds - length) < 0.002)
            #expect(try Matroska(path) == Matroska(codecDelay: 6_500_000, firstBlock: 0))
        }
        let found = try onsets(track, in: directory)
        let composite = try Onsets(directory.file("a.mp4"))
        #expect(found.count == 4 && zip(found, composite.beeps).allSatisfy { abs($0 - $1) < 0.012 }, "\(found)")
    }

    @Test("A name that comes after the media is that of the track")
    func lateName() async throws {
        let directory = ScratchDirectory()
        let lists = Guarded<[[RecordingTrack]]>([])
        let recorder = try recorder(directory) { list in lists.withLock { $0.append(list) } }
        let (ann, feed) = (try Performer("ann"), try FlashAndBeep())
        try feed.feed(recorder, 520..<1520, [ann])
        _ = await recorder.duration()
        recorder.set(names: ["ann": "Ann"])
        _ = await recorder.duration()
        #expect(lists.withLock { $0.last }?.map(\.name) == ["Ann", "Ann"], "also while it runs")
        try feed.feed(recorder, 1520..<2520, [ann])
        recorder.set(names: ["ann": "Anna"])
        let tracks = try await recorder.finish().participantTracks
        #expect(tracks.map(\.name) == ["Ann", "Ann"], "a name that it has stays")
    }

    @Test("The files say of what room, of whom and of when they are")
    func labels() async throws {
        let directory = ScratchDirectory()
        let began = Date(timeIntervalSince1970: 1_785_506_705)
        let recorder = try MP4Recorder(
            file: directory.file("a.mp4"), width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            content: .init(tracks: true), labels: RecordingLabels(room: "Zoë’s room", began: began),
            onFailure: { Issue.record("\($0)") })
        recorder.set(names: ["ann": "Ann"])
        recorder.note(TimelineEvent(.mark, name: "the vote"), at: FlashAndBeep.instant(1000))
        let (ann, feed) = (try Performer("ann", .h264), try FlashAndBeep())
        try feed.feed(recorder, 520..<4520, [ann])
        _ = await recorder.duration()
        for copy in ["copied.mp4", "inplace.mp4"] {
            try FileManager.default.copyItem(atPath: directory.file("a.mp4"), toPath: directory.file(copy))
        }
        let summary = try await recorder.finish()
        _ = try MP4Closing.close(directory.file("copied.mp4"))
        _ = try MP4Closing.close(
            directory.file("inplace.mp4"), chapters: [RecordingChapter(at: 0, title: "Start", isMark: false)],
            copyLimit: 0)
        let title = "Zoë’s room, 2026-07-31 14:05 UTC"
        for file in ["a.mp4", "copied.mp4", "inplace.mp4"] {
            let input = try MP4Input(path: directory.file(file))
            #expect(input.label("title") == title && input.label("album") == "Zoë’s room", "\(file)")
            #expect(input.label("creation_time")?.hasPrefix("2026-07-31T14:05:05") == true, "\(file)")
            #expect(!input.chapters.isEmpty || file == "copied.mp4", "\(file)")
        }
        for track in summary.participantTracks {
            let path = directory.file(track.file)
            for isRepaired in [false, true] {
                if isRepaired { _ = try TrackClosing.close(path, reserve: nil) }
                let input = try MP4Input(path: path, format: "matroska")
                #expect(input.label("title") == "Ann, \(track.kind), \(title)")
                #expect(input.label("room") == "Zoë’s room" && input.label("creation_time") != nil)
            }
        }
        // Frames that other clocks counted make no digits of dust.
        for number in summary.participantTracks.flatMap({ [$0.start, $0.duration ?? 0] })
            + summary.parts.map({ $0.duration ?? 0 })
        {
            #expect(number == number.toMilliseconds)
        }
        #expect(summary.frameCount == 99, "of the last 40 ms there is sound alone")
    }

    @Test("Eight recordings with tracks lose nothing by a disk that stalls for five seconds")
    func stall() async throws {
        let directory = ScratchDirectory()
        let disk = FakeDisk()
        let memory = RecordingMemory()
        let recorders = try (0..<8).map { try recorder(directory, "r\($0).mp4", disk: disk.disk, memory: memory) }
        let performers = try (0..<8).map { try Performer("p\($0)") }
        let feeds = try (0..<8).map { _ in try FlashAndBeep() }
        func feed(_ range: Range<Int>) throws {
            for index in 0..<8 { try feeds[index].feed(recorders[index], range, [performers[index]]) }
        }
        try feed(0..<2000)
        disk.block()
        try feed(2000..<7000)
        disk.unblock()
        try feed(7000..<8000)
        for recorder in recorders {
            let summary = try await recorder.finish()
            #expect(summary.dropped.isEmpty && abs(summary.duration.inSeconds - 7.9) < 0.2, "\(summary)")
            for track in summary.participantTracks {
                #expect(try onsets(track, in: directory).count == 8, "\(track)")
            }
        }
        #expect(memory.waiting == 0)
    }

    @Test("Beyond the memory for a stalled disk tracks lose media and count it, and the memory stays bounded")
    func bounded() async throws {
        let directory = ScratchDirectory()
        let disk = FakeDisk()
        let memory = RecordingMemory(perRecording: 100_000, inAll: 300_000)
        let recorder = try recorder(directory, disk: disk.disk, memory: memory)
        let (ann, feed) = (try Performer("ann"), try FlashAndBeep())
        try feed.feed(recorder, 520..<1500, [ann], audio: false)
        _ = await recorder.duration()
        disk.block()
        for second in 2..<20 { try feed.feed(recorder, second * 1000..<(second + 1) * 1000, [ann], audio: false) }
        #expect(memory.waiting <= 200_000)
        #expect(recorder.losses.audio > 0)
        disk.unblock()
        // What waits is on the disk, so that nothing is lost from here on.
        _ = await recorder.duration()
        try feed.feed(recorder, 20_520..<23_520, [ann], audio: false)
        let summary = try await recorder.finish()
        #expect(!summary.dropped.isEmpty && memory.waiting == 0)
        let camera = try #require(summary.participantTracks.first { $0.kind == .camera })
        // In the feed's time. Where frames were lost, the first one that is left may be in the middle of a flash.
        let found = try onsets(camera, in: directory).map { $0 + 0.52 }
        #expect(found.allSatisfy { abs($0 - 0.05 - ($0 - 0.05).rounded()) <= 0.07 }, "\(found)")
        #expect(strays([21, 22, 23], found).isEmpty, "\(found)")
    }

    @Test("Frames that no file can have cost their participant's tracks, and neither the recording nor others'")
    func rubbish() async throws {
        let directory = ScratchDirectory()
        let recorder = try recorder(directory)
        let (ann, bob, feed) = (try Performer("ann"), try Performer("bob", .h264), try FlashAndBeep())
        for second in 0..<5 {
            try feed.feed(recorder, second * 1000..<(second + 1) * 1000, [ann, bob])
            let now = FlashAndBeep.instant(second * 1000 + 990)
            for data: [UInt8] in [
                [0, 0, 0, 1, 0x67, 1], [0, 0, 0, 1, 0x67, 66, 0, 31, 0, 0, 0, 1, 0x68], [], [0x9D, 1],
            ] {
                for codec in [VideoCodec.vp8, .h264] {
                    _ = recorder.tracks?.append(
                        RecordingTracks.Picture(
                            participant: "ann", isScreen: true, kind: .screen,
                            frame: EncodedVideoFrame(codec: codec, data: data, isKeyframe: true, timestamp: 0),
                            rotation: .none, captureTime: now, arrival: now))
                }
            }
        }
        let summary = try await recorder.finish()
        #expect(summary.failure == nil && abs(summary.duration.inSeconds - 4.9) < 0.3, "\(summary)")
        let tracks = summary.participantTracks
        #expect(tracks.contains { $0.participant == "bob" && $0.kind == .camera && $0.duration ?? 0 > 4 }, "\(tracks)")
        #expect(tracks.count < 12 && tracks.allSatisfy { $0.bytes ?? 0 > 0 }, "\(tracks)")
    }

    @Test("Tracks count for the limit of a recording's size")
    func size() async throws {
        let directory = ScratchDirectory()
        let reached = Guarded<RecordingError?>(nil)
        let recorder = try MP4Recorder(
            file: directory.file("a.mp4"), width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            limits: RecordingLimits(size: 60_000), content: .init(tracks: true),
            onFailure: { error in reached.withLock { $0 = error } })
        let performers = try (0..<6).map { try Performer("p\($0)") }
        try FlashAndBeep().feed(recorder, 0..<8000, performers)
        let summary = try await recorder.finish()
        #expect(reached.withLock { $0 } == .tooLarge(limit: 60_000) && summary.failure != nil)
        let tracks = summary.participantTracks.reduce(0) { $0 + ($1.bytes ?? 0) }
        #expect(summary.bytes < 60_000 && summary.bytes + tracks < 200_000, "\(summary.bytes) \(tracks)")
    }
}

/// The times with which an audio file begins (RFC 9559 §5.1.4.1.5, §5.1.3.1): the priming in nanoseconds, and the first
/// block in ms. Together they place the first sample.
private struct Matroska: Equatable {
    var codecDelay: Int
    var firstBlock: Int

    init(codecDelay: Int, firstBlock: Int) { (self.codecDelay, self.firstBlock) = (codecDelay, firstBlock) }

    init(_ path: String) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        func content(_ id: [UInt8], from start: Int) throws -> (value: [UInt8], end: Int) {
            let place = try #require(data[start...].range(of: Data(id)))
            let head = Int(data[place.upperBound])
            // The number of leading zeros is that of further bytes of the length.
            let more = UInt8(head).leadingZeroBitCount
            let length = (0..<more).reduce(head & (0x7F >> more)) { $0 << 8 | Int(data[place.upperBound + 1 + $1]) }
            let first = place.upperBound + 1 + more
            return (Array(data[first..<min(first + length, data.count)]), first)
        }
        func number(_ bytes: [UInt8]) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
        codecDelay = number(try content([0x56, 0xAA], from: 0).value)
        let cluster = try #require(data.range(of: Data([0x1F, 0x43, 0xB6, 0x75]))).upperBound
        // Behind the cluster's own length, in whose bytes anything may be.
        let time = try content([0xE7], from: cluster + 1 + data[cluster].leadingZeroBitCount)
        // A block begins with the track's number in one byte, and its time within the cluster.
        let block = try content([0xA3], from: time.end).value
        firstBlock = number(time.value) + Int(Int16(truncatingIfNeeded: number(Array(block[1..<3]))))
    }
}
