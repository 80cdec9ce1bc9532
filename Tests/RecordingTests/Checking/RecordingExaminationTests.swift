import Basics
import Codecs
import Foundation
import TestSupport
import Testing

@testable import Recording

@Suite("Examination of recordings", .serialized)
struct RecordingExaminationTests {
    /// A recording whose audio is `late` milliseconds late, with the given pictures missing.
    private func record(
        _ file: String, _ length: Int, late: (Int) -> Int = { _ in 0 }, audio: (Int) -> Bool = { _ in true },
        video: (Int) -> Bool = { _ in true }
    ) async throws {
        let recorder = try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            onFailure: { Issue.record("\($0)") })
        let source = try FlashAndBeep()
        for time in stride(from: 0, to: length, by: 20) {
            // What should be heard now is taken from an earlier time.
            let heard = audio(time) ? time - late(time) : 500
            recorder.append(
                audio: FlashAndBeep.audio(heard).samples, timestamp: FlashAndBeep.instant(time).ticks(at: 48_000))
            if time % 40 == 0, video(time), let frame = try source.frame(time) { recorder.append(frame) }
        }
        _ = try await recorder.finish()
    }

    @Test("The offset is that of flashes and beeps, whatever the tracks' edges say", arguments: [-100, 0, 40, 200])
    func offset(late: Int) async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        try await record(file, 8000, late: { _ in late })
        let found = try RecordingExamination(file: file)
        let sync = try #require(found.sync)
        #expect(abs(sync.offset * 1000 - Double(late)) < 15 && sync.pairs >= 7 && sync.spread < 0.03, "\(sync)")
        #expect(abs(try #require(found.report.avOffset).inSeconds) < 0.01, "the tracks begin together all the same")
        #expect(found.gaps.isEmpty && found.silences?.isEmpty == true)
    }

    @Test("An offset that grows is seen at both ends")
    func drift() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        try await record(file, 20_000, late: { $0 / 400 * 2 / 20 * 20 })
        let sync = try #require(try RecordingExamination(file: file).sync)
        #expect(sync.atEnd - sync.atStart > 0.04 && sync.pairs > 15, "\(sync)")
    }

    @Test("Gaps and silence are told with their times; without decoding the gaps alone")
    func gaps() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        try await record(
            file, 14_000, audio: { !(9000..<12_000).contains($0) }, video: { !(4000..<7000).contains($0) })
        let found = try RecordingExamination(file: file)
        #expect(found.gaps.count == 1 && found.gaps.first?.kind == .video)
        let gap = try #require(found.gaps.first)
        #expect(abs(gap.start.inSeconds - 3.96) < 0.05 && abs(gap.length.inSeconds - 3.04) < 0.05, "\(gap)")
        let silence = try #require(found.silences?.first)
        #expect(abs(silence.start.inSeconds - 9) < 1 && silence.length.inSeconds > 2.5, "\(silence)")
        let quick = try RecordingExamination(file: file, decoding: false)
        #expect(quick.gaps == found.gaps && quick.sync == nil && quick.silences == nil)
    }

    @Test("What the recorder knows is read from the sidecar, for later parts too")
    func sidecar() async throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path)
        let entry = try catalogue.begin(room: "kitchen")
        try catalogue.note(entry.id) { $0.dropped = RecordingLosses(video: 7, audio: 2) }
        let second = catalogue.path(of: entry).replacing(".mp4", with: "-2.mp4")
        for file in [catalogue.path(of: entry), second, directory.file("other.mp4")] { try await record(file, 1000) }
        for file in [catalogue.path(of: entry), second] {
            let found = try RecordingExamination(file: file, decoding: false)
            #expect(found.entry?.id == entry.id && found.entry?.dropped == RecordingLosses(video: 7, audio: 2))
        }
        #expect(try RecordingExamination(file: directory.file("other.mp4"), decoding: false).entry == nil)
    }

    @Test("A part that flashes is found, and something bright that moves is no flash")
    func flashes() {
        var flashes = FlashDetector()
        for number in 0..<100 {
            let picture = Picture(width: 320, height: 192)
            picture.fill(y: 60, u: 128, v: 128)
            for row in 0..<192 {
                // A bright bar of a third of a cell moves on, and every second a ninth of the picture is white.
                for column in 0..<13 { picture.y[row * picture.yStride + (number * 4 + column) % 320] = 200 }
                for column in 107..<213 where number % 25 < 3 && (64..<128).contains(row) {
                    picture.y[row * picture.yStride + column] = 235
                }
            }
            flashes.take(picture, at: Double(number) / 25)
        }
        // The first picture has none before it.
        #expect(flashes.times == [1, 2, 3], "\(flashes.times)")
    }

    @Test("Sounds and changes that have nothing to do with each other give no offset")
    func chance() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<50 {
            let flashes = (0..<60).map { Double($0) + Double(random.next() % 1000) / 1000 }.sorted()
            let beeps = (0..<60).map { Double($0) + Double(random.next() % 1000) / 1000 }.sorted()
            #expect(AVSync(flashes: flashes, beeps: beeps) == nil)
        }
        #expect(AVSync(flashes: [], beeps: [1, 2, 3]) == nil && AVSync(flashes: [1, 2], beeps: [1, 2]) == nil)
        // Missing beeps and a few others do no harm.
        let flashes = (1...20).map(Double.init)
        let beeps = (1...20).filter { $0 % 5 != 0 }.map { Double($0) + 0.03 } + [21.4]
        let sync = AVSync(flashes: flashes, beeps: beeps)
        #expect(abs((sync?.offset ?? 1) - 0.03) < 0.001 && sync?.pairs == 16)
    }
}
