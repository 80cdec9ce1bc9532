import Basics
import Foundation
import Testing

@testable import Recording

@Suite(.serialized) struct RecordingCatalogueTests {
    @Test("Entries survive a restart, and their ids never leave the directory")
    func entries() throws {
        let directory = try ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.file("new"))
        let entry = try catalogue.begin(room: "../../Küche & Co", at: Date(timeIntervalSince1970: 1_751_600_000))
        #expect(entry.id.hasPrefix("20250704-033320-") && !entry.id.contains("/") && !entry.id.contains("."))
        let again = try RecordingCatalogue(directory: directory.file("new"))
        #expect(again.list() == [entry] && again.entry(entry.id)?.room == "../../Küche & Co")
        #expect(throws: RecordingError.self) { try again.finish("nothing", .failure(.unknown(id: ""))) }
        again.remove(entry.id)
        #expect(try RecordingCatalogue(directory: directory.file("new")).list().isEmpty)
    }

    @Test("How a recording ended is known even where its sidecar cannot be written")
    func fullDisk() throws {
        let directory = try ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.file("full"))
        let kept = try catalogue.begin(room: "kept")
        let failed = try catalogue.begin(room: "failed")
        try FileManager.default.removeItem(atPath: directory.file("full"))
        let summary = RecordingSummary(
            file: catalogue.path(of: kept), files: [catalogue.path(of: kept)], duration: .seconds(2), bytes: 7, tracks: ["h264"],
            failure: nil)
        #expect(throws: RecordingError.self) { try catalogue.finish(kept.id, .success(summary)) }
        #expect(throws: RecordingError.self) { try catalogue.finish(failed.id, .failure(.diskFull(path: "x"))) }
        #expect(catalogue.entry(kept.id)?.state == .finished && catalogue.entry(kept.id)?.bytes == 7)
        #expect(catalogue.entry(failed.id)?.state == .failed)
    }

    @Test("What a crash left open is closed at the next start")
    func recovery() async throws {
        let directory = try ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path)
        let entry = try catalogue.begin(room: "kitchen")
        let lost = try catalogue.begin(room: "lost")
        let recorder = try MP4Recorder(
            file: catalogue.path(of: entry), width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            onFailure: { Issue.record("\($0)") })
        try FlashAndBeep().feed(recorder, 0..<4000)
        _ = await recorder.duration()
        // As `kill -9` leaves them: the fragments so far, one without a sidecar, and a closing that was cut short.
        let crashed = try ScratchDirectory()
        for name in [entry.file, entry.id + ".json", lost.id + ".json"] {
            try FileManager.default.copyItem(atPath: directory.file(name), toPath: crashed.file(name))
        }
        try FileManager.default.copyItem(atPath: directory.file(entry.file), toPath: crashed.file("orphan.mp4"))
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: crashed.file(entry.file + MP4Closing.closingSuffix)))
        _ = try await recorder.finish()

        let reopened = try RecordingCatalogue(directory: crashed.path)
        let recovered = reopened.recover()
        #expect(recovered.count == 3)
        let mended = try #require(reopened.entry(entry.id))
        #expect(mended.state == .finished && mended.wasRecovered && mended.duration ?? 0 > 2.5)
        #expect(try RecordingRepair.check(file: crashed.file(entry.file)).closedProperly)
        #expect(reopened.entry("orphan")?.state == .finished)
        #expect(reopened.entry(lost.id)?.state == .failed && reopened.entry(lost.id)?.message != nil)
        #expect(!FileManager.default.fileExists(atPath: crashed.file(entry.file + MP4Closing.closingSuffix)))
        #expect(reopened.recover().isEmpty)
    }
}
