import Basics
import Foundation
import Logging
import TestSupport
import Testing

@testable import Conference

/// Bytes that begin as a picture of a format does.
func fakePicture(_ format: ChatPicture.Format = .jpeg, bytes count: Int = 1000, fill: UInt8 = 7) -> [UInt8] {
    let head: [UInt8] =
        switch format {
        case .jpeg: [0xFF, 0xD8, 0xFF, 0xE0]
        case .png: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        case .gif: Array("GIF89a".utf8)
        case .webp: Array("RIFF".utf8) + [1, 2, 3, 4] + Array("WEBPVP8 ".utf8)
        }
    return head + Array(repeating: fill, count: max(0, count - head.count))
}

@Suite("The pictures of chats")
struct PictureTests {
    private let scratch = ScratchDirectory(isMade: false)
    private var folder: String { scratch.path + "/data/pictures" }

    private func store(quota: Int = 1 << 20) -> PictureStore {
        var settings = ConferenceConfiguration.Pictures()
        settings.directory = folder
        settings.maxBytes = quota
        let store = PictureStore(settings, logger: Logger(label: "test"))
        store.open()
        return store
    }

    private func add(_ picture: [UInt8], to store: PictureStore) async throws -> ChatPicture {
        try await store.store(picture, try store.place(for: picture))
    }

    private func value(_ name: String, _ store: PictureStore, _ labels: [String: String] = [:]) -> Double? {
        store.samples.first { $0.name == name && $0.labels == labels }?.value
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test("the first bytes decide what a picture is", arguments: ChatPicture.Format.allCases)
    func formats(format: ChatPicture.Format) {
        #expect(ChatPicture.Format(fakePicture(format)) == format)
        #expect(ChatPicture.Format(Array(fakePicture(format).dropFirst())) == nil)
        #expect(ChatPicture.Format(Array(fakePicture(format).prefix(2))) == nil)
    }

    @Test("what is no picture is refused, whatever it claims to be")
    func others() {
        let store = store()
        for bytes in [
            [], Array("<!doctype html><script>alert(1)</script>".utf8),
            Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8),
            Array("RIFF....WAVE".utf8), Array("%PDF-1.7".utf8), [0xFF, 0xD8], Array("BM".utf8),
        ] {
            #expect { try store.place(for: bytes) } throws: { ($0 as? ConferenceError)?.kind == "badPicture" }
        }
    }

    @Test(
        "no id leads out of the folder",
        arguments: [
            "", ".", "..", "../x.jpg", "/etc/passwd", "a.jpg", "aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "aaaaaaaaaaaaaaaaaaaaaaaaaa.html",
            "aaaaaaaaaaaaaaaaaaaaaaaaaa.jpg.part", "aaaaaaaaaaaa/../aaaaaaaaaa.jpg", "AAAAAAAAAAAAAAAAAAAAAAAAAA.jpg",
            "äaaaaaaaaaaaaaaaaaaaaaaaaa.jpg", "aaaaaaaaaaaaaaaaaaaaaaaaaa.JPG",
        ])
    func ids(id: String) async {
        let store = store()
        #expect { try store.path(of: id) } throws: { $0 as? ConferenceError == .pictureNotFound }
        await #expect { try await store.read(id) } throws: { $0 as? ConferenceError == .pictureNotFound }
    }

    @Test("a picture is stored under a random name, for the server's user alone")
    func storing() async throws {
        let store = store()
        #expect(!FileManager.default.fileExists(atPath: folder), "nothing is created before the first picture")
        await #expect(throws: ConferenceError.pictureNotFound) {
            try await store.read("aaaaaaaaaaaaaaaaaaaaaaaaaa.jpg")
        }
        let bytes = fakePicture(.webp, bytes: 5000)
        let (one, other) = (try await add(bytes, to: store), try await add(bytes, to: store))
        #expect(one.type == "image/webp" && one.bytes == 5000 && one.id.hasSuffix(".webp") && one.id.count == 31)
        #expect(one.id != other.id)
        #expect(try await store.read(one.id) == bytes)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == [one.id, other.id].sorted())
        #expect(try mode(folder) == 0o700 && mode(scratch.path + "/data") == 0o700)
        #expect(try mode(store.path(of: one.id)) == 0o600)
        #expect(value("tessera_pictures_stored_total", store) == 2)
        #expect(value("tessera_limited_current", store, ["name": "picture_bytes"]) == 16384)
    }

    @Test("a picture may have 8 MiB")
    func size() throws {
        let store = store(quota: 1 << 30)
        _ = try store.place(for: fakePicture(bytes: ChatPicture.maxBytes))
        #expect { try store.place(for: fakePicture(bytes: ChatPicture.maxBytes + 1)) } throws: {
            ($0 as? ConferenceError)?.kind == "tooLarge"
        }
    }

    @Test("beyond the quota the oldest pictures are deleted, and one that exceeds it alone is refused")
    func quota() async throws {
        let store = store(quota: 5 * 4096)
        var ids: [String] = []
        for number in 0..<8 { ids.append(try await add(fakePicture(bytes: 4000, fill: UInt8(number)), to: store).id) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ids.suffix(5).sorted())
        await #expect(throws: ConferenceError.pictureNotFound) { try await store.read(ids[2]) }
        #expect(try await store.read(ids[7]) == fakePicture(bytes: 4000, fill: 7))
        #expect(value("tessera_pictures_deleted_total", store) == 3)
        #expect { try store.place(for: fakePicture(bytes: 5 * 4096 + 1)) } throws: {
            ($0 as? ConferenceError)?.message.contains("doors.pictureBytes") == true
        }
    }

    @Test("a restarted server counts the pictures that are there, and leaves the files of others alone")
    func restart() async throws {
        let first = store(quota: 4 * 4096)
        var ids: [String] = []
        for _ in 0..<3 { ids.append(try await add(fakePicture(bytes: 4000), to: first).id) }
        let foreign = ["notes.txt", "holiday.jpg", "aaaaaaaaaaaaaaaaaaaaaaaaaa.gif.part"]
        for name in foreign { try Data(count: 100_000).write(to: URL(fileURLWithPath: folder + "/" + name)) }

        let second = store(quota: 4 * 4096)
        ids.append(try await add(fakePicture(bytes: 4000), to: second).id)
        #expect(value("tessera_limited_current", second, ["name": "picture_bytes"]) == 16384)
        ids.append(try await add(fakePicture(bytes: 4000), to: second).id)
        let there = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Set(there) == Set(ids.suffix(4) + foreign.prefix(2)), "a picture that a crash left unfinished is gone")
    }

    @Test("a folder that cannot be used refuses pictures with the remedy, and works once it can")
    func badFolder() async throws {
        try FileManager.default.createDirectory(atPath: scratch.path, withIntermediateDirectories: true)
        let path = scratch.path + "/data"
        try Data("a file, no folder".utf8).write(to: URL(fileURLWithPath: path))
        let store = store()
        do {
            _ = try await add(fakePicture(), to: store)
            Issue.record("stored in a file")
        } catch let error as ConferenceError {
            #expect(error.kind == "pictureFailed" && error.message.contains("doors.directory"))
            #expect(!error.message.contains(scratch.path))
        }
        #expect(value("tessera_limit_refusals_total", store, ["name": "picture_bytes", "reason": "disk"]) == 1)
        try FileManager.default.removeItem(atPath: path)
        _ = try await add(fakePicture(), to: store)
    }

    @Test("pictures that wait for the disk are bounded in bytes")
    func waiting() throws {
        let store = store(quota: 1 << 30)
        let large = fakePicture(bytes: ChatPicture.maxBytes)
        var places = try (0..<8).map { _ in try store.place(for: large) }
        #expect { try store.place(for: fakePicture()) } throws: { ($0 as? ConferenceError)?.kind == "atCapacity" }
        places.removeLast()
        _ = try store.place(for: large)
        #expect(value("tessera_limit_refusals_total", store, ["name": "picture_bytes", "reason": "waiting"]) == 1)
    }
}
