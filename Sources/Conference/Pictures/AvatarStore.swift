import Basics
import Codecs
import FoundationEssentials
import Glibc
import Logging
import Threads

/// Decodes avatar pictures, and stores those that tokens name (claim `avatar`), one file for each. Each happens on a
/// lane of its own, away from rooms and loops: a disk that hangs keeps nobody from showing a picture of his own.
final class AvatarStore: Sendable {
    /// What a file may cost: avatars are shown at most 240 pixels wide on a canvas of 720 lines.
    static let limits = StillImage.Limits(bytes: Avatars.maxBytes, pixels: 1 << 24, side: 256)
    /// The most stored files.
    static let maxFiles = 10_000
    /// No name of an avatar has this letter.
    private static let unfinished = "~"
    /// The most jobs that wait for a lane.
    static let maxWaiting = 64

    private let directory: String
    let lane: DiskLane
    private let decoding = DiskLane("avatar decode", most: maxWaiting, limit: .seconds(30))
    private let logger: Logger

    /// - Parameter limit: how long a request waits for the disk.
    init(directory: String, logger: Logger, limit: Duration = .seconds(5)) {
        self.directory = directory
        lane = DiskLane("avatars", most: Self.maxWaiting, limit: limit)
        self.logger = logger
    }

    /// - Throws: what is wrong with the file.
    func decode(_ file: [UInt8]) async throws(ConferenceError) -> StillImage {
        try await run(decoding) { () throws(ConferenceError) -> StillImage in try Self.picture(file) }
    }

    /// The picture as PNG.
    func png(_ picture: StillImage) async throws(ConferenceError) -> [UInt8] {
        try await run(decoding) { () throws(ConferenceError) -> [UInt8] in
            do { return try picture.pngData() } catch { throw .internalFailure("\(error)") }
        }
    }

    /// Checks a file and stores it under a name.
    func store(_ file: [UInt8], as name: String) async throws(ConferenceError) {
        let path = try path(of: name)
        _ = try await decode(file)
        try await run(lane) { [directory, logger] () throws(ConferenceError) -> Void in
            let stored = (try? FileManager.default.contentsOfDirectory(atPath: directory))?.count ?? 0
            guard stored < Self.maxFiles || access(path, F_OK) == 0 else {
                throw .atCapacity("There are \(Self.maxFiles) avatars: delete some.", retryAfter: .seconds(60))
            }
            do {
                try FileManager.default.createDirectory(
                    atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                try WholeFile.replace(path, with: file, mode: 0o666, unfinished: Self.unfinished)
            } catch {
                logger.warning(
                    "an avatar cannot be stored", metadata: ["folder": "\(directory)", "reason": "\(error)"])
                throw .pictureFailed("The server cannot store avatars: its operator must make the folder writable.")
            }
        }
    }

    /// The stored file of a name.
    func file(_ name: String) async throws(ConferenceError) -> [UInt8] {
        let path = try path(of: name)
        return try await run(lane) { () throws(ConferenceError) -> [UInt8] in try Self.read(path) }
    }

    func delete(_ name: String) async throws(ConferenceError) {
        let path = try path(of: name)
        try await run(lane) { () throws(ConferenceError) -> Void in if unlink(path) != 0 { throw .pictureNotFound } }
    }

    /// Passes the stored picture of a name to `body`, on a lane; nothing happens where there is none, and where too much
    /// waits.
    func find(_ name: String, _ body: @escaping @Sendable (StillImage) -> Void) {
        guard let path = try? path(of: name) else { return }
        lane.submit { [decoding] in
            guard let file = try? Self.read(path) else { return }
            decoding.submit { if let picture = try? Self.picture(file) { body(picture) } }
        }
    }

    // MARK: - On the lanes

    private func run<Value: Sendable>(
        _ lane: DiskLane, _ job: @escaping @Sendable () throws(ConferenceError) -> Value
    ) async throws(ConferenceError) -> Value {
        let result: Result<Value, ConferenceError>
        do throws(DiskLane.Refusal) {
            result = try await lane.run {
                do throws(ConferenceError) { return .success(try job()) } catch { return .failure(error) }
            }
        } catch {
            switch error {
            case .full: throw .atCapacity("Too many avatars are being handled: try again.", retryAfter: .seconds(2))
            case .late:
                throw .noAnswer(ofDisk: "avatars")
            }
        }
        return try result.get()
    }

    private func path(of name: String) throws(ConferenceError) -> String {
        guard Avatars.isName(name) else { throw .badRequest("An avatar's name has \(Avatars.nameRule).") }
        return directory + "/" + name
    }

    private static func read(_ path: String) throws(ConferenceError) -> [UInt8] {
        guard let file = fopen(path, "rb") else { throw .pictureNotFound }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: limits.bytes + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { throw .pictureNotFound }
        return Array(bytes.prefix(count))
    }

    private static func picture(_ file: [UInt8]) throws(ConferenceError) -> StillImage {
        do throws(StillImage.Fault) {
            return try StillImage(file, limits: limits)
        } catch {
            if case .tooManyBytes = error { throw .tooLarge("Avatar: \(error).") }
            throw .badPicture("Avatar: \(error).")
        }
    }
}

/// The rules of avatar pictures.
package enum Avatars {
    /// The most bytes of a file.
    package static let maxBytes = 1 << 20
    package static let nameRule = "1 to 128 of A-Z, a-z, 0-9 and . _ @ + -, and no dot in front"

    /// Whether a stored avatar can have this name, which is that of a file.
    package static func isName(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.first != "."
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._@+-".utf8.contains(byte)
                }
            }
    }
}
