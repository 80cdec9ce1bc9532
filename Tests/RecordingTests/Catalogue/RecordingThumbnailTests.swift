import Basics
import Codecs
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Recording

@Suite struct RecordingThumbnailTests {
    private func recorded(
        in directory: ScratchDirectory, _ content: RecordingContent = .init()
    ) async throws -> (RecordingCatalogue, RecordingEntry) {
        let catalogue = try RecordingCatalogue(directory: directory.path)
        let entry = try catalogue.begin(room: "r", content: content)
        let recorder = try MP4Recorder(
            file: catalogue.path(of: entry), width: FlashAndBeep.width, height: FlashAndBeep.height,
            framesPerSecond: 25, content: content, onFailure: { Issue.record("\($0)") })
        // The picture is white in the first tenth of a second, and dark at a third.
        try FlashAndBeep().feed(recorder, 0..<2500)
        let end = try await recorder.finish()
        return (catalogue, try #require(try catalogue.finish(entry.id, .success(end))))
    }

    @Test("A recording has a small picture from within it, which goes with its other files")
    func made() async throws {
        let directory = ScratchDirectory()
        let (catalogue, entry) = try await recorded(in: directory)
        let path = try RecordingThumbnail.make(of: entry, in: catalogue)
        #expect(path == directory.file(entry.id + ".jpg"))
        let file = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        let image = try StillImage(file, limits: .init(bytes: 1 << 20, pixels: 1 << 20, side: 1000))
        #expect(image.width == 320 && image.height == 192)
        #expect(image.pixels[0] < 40, "dark, as a third of the way in")
        // A second one is the same file.
        try Data([1]).write(to: URL(fileURLWithPath: path))
        #expect(try RecordingThumbnail.make(of: entry, in: catalogue) == path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([1]))
        #expect(try catalogue.delete(entry, atMost: 10) && directory.files.isEmpty, "\(directory.files)")
    }

    @Test("Where there is no picture, or nothing at all, no file is left")
    func none() async throws {
        let directory = ScratchDirectory()
        let (catalogue, audio) = try await recorded(in: directory, .init(audioOnly: true))
        #expect(throws: RecordingError.self) { try RecordingThumbnail.make(of: audio, in: catalogue) }
        let (other, entry) = try await recorded(in: directory)
        try Data("no film".utf8).write(to: URL(fileURLWithPath: directory.file(entry.file)))
        #expect(throws: RecordingError.self) { try RecordingThumbnail.make(of: entry, in: other) }
        unlink(directory.file(entry.file))
        #expect(throws: RecordingError.self) { try RecordingThumbnail.make(of: entry, in: other) }
        #expect(!directory.files.contains { $0.contains(".jpg") })
        // What a crash left while it was written.
        try Data([1]).write(to: URL(fileURLWithPath: directory.file("x.jpg.new")))
        _ = try RecordingCatalogue(directory: directory.path)
        #expect(!directory.files.contains { $0.contains(".jpg") })
    }

    @Test("A title is kept in the sidecar, and can be taken away")
    func title() async throws {
        let directory = ScratchDirectory()
        let (catalogue, entry) = try await recorded(in: directory)
        #expect(try catalogue.setTitle("The “vote” 🗳", of: entry.id)?.title == "The “vote” 🗳")
        #expect(try RecordingCatalogue(directory: directory.path).entry(entry.id)?.title == "The “vote” 🗳")
        #expect(try catalogue.setTitle(nil, of: entry.id)?.title == nil)
        #expect(try RecordingCatalogue(directory: directory.path).entry(entry.id)?.title == nil)
        #expect(try catalogue.setTitle("x", of: "none") == nil)
    }
}
