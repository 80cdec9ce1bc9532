import Foundation
import Streaming
import Testing

@testable import Inputs

@Suite struct FileSourceTests {
    /// A folder with a file, and files beside it.
    private func withFolder(_ body: (String) throws -> Void) throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("inputs-\(UUID().uuidString)")
        let folder = place.appendingPathComponent("media")
        let beside = place.appendingPathComponent("media-private")
        for directory in [folder, folder.appendingPathComponent("clips"), beside] {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(at: place) }
        try Data("the clip".utf8).write(to: folder.appendingPathComponent("clips/a.mp4"))
        try Data("a secret".utf8).write(to: beside.appendingPathComponent("secret.mp4"))
        let links = [
            ("inside.mp4", "clips/a.mp4"), ("out.mp4", "../media-private/secret.mp4"), ("clips/passwd", "/etc/passwd"),
            ("away", "../media-private"),
        ]
        for (name, target) in links {
            try FileManager.default.createSymbolicLink(
                atPath: folder.appendingPathComponent(name).path, withDestinationPath: target)
        }
        mkfifo(folder.appendingPathComponent("pipe.mp4").path, 0o600)
        try body(folder.path)
    }

    @Test(arguments: ["clips/a.mp4", "inside.mp4"])
    func `a file below the directory is read`(path: String) throws {
        try withFolder { folder in
            let source = try FileSource(path, below: folder)
            #expect(source.length == 8)
            var bytes = [UInt8](repeating: 0, count: 4)
            try source.seek(to: 4)
            #expect(try bytes.withUnsafeMutableBytes { try source.read(into: $0) } == 4)
            #expect(String(decoding: bytes, as: UTF8.self) == "clip")
            #expect(try bytes.withUnsafeMutableBytes { try source.read(into: $0) } == 0)
        }
    }

    @Test(
        arguments: [
            "out.mp4", "clips/passwd", "away/secret.mp4", "pipe.mp4", "clips", "none.mp4",
            "../media-private/secret.mp4",
        ])
    func `links out of it, pipes and folders are not`(path: String) throws {
        try withFolder { folder in
            #expect(throws: StreamingError.self) { try FileSource(path, below: folder) }
        }
    }
}
