import Basics
import Codecs
import Dispatch
import Foundation
import Logging
import TestSupport
import Testing
import Threads

@testable import Conference

@Suite("Avatars") struct AvatarTests {
    private static func png(_ width: Int, _ height: Int, luma: UInt8 = 120) throws -> [UInt8] {
        let picture = Picture(width: width, height: height)
        picture.fill(y: luma, u: 90, v: 200)
        return try picture.pngData()
    }

    private func kind(_ body: () async throws(ConferenceError) -> Void) async -> ConferenceError? {
        do throws(ConferenceError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test("Hostile files are refused by what is wrong with them, and nothing is stored") func hostile() async throws {
        let directory = ScratchDirectory(isMade: false)
        defer { withExtendedLifetime(directory) {} }
        let store = AvatarStore(directory: directory.path, logger: Logger(label: "test"))
        var huge = try Self.png(16, 16)
        huge.replaceSubrange(16..<24, with: [0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF])
        let good = try Self.png(16, 16)
        for file in [huge, Array(good.dropLast(20)), Array("<svg/>".utf8), Array("GIF89a-------".utf8), []] {
            guard
                case .badPicture = await kind({ () async throws(ConferenceError) -> Void in
                    try await store.store(file, as: "a")
                })
            else {
                Issue.record("\(file.prefix(8)) is taken")
                continue
            }
        }
        let long = good + [UInt8](repeating: 0, count: Avatars.maxBytes)
        guard
            case .tooLarge = await kind({ () async throws(ConferenceError) -> Void in
                try await store.store(long, as: "a")
            })
        else {
            Issue.record("a file of \(long.count) bytes is taken")
            return
        }
        for name in ["../a", "a/b", ".a", "", String(repeating: "a", count: 129), "ä"] {
            guard
                case .badRequest = await kind({ () async throws(ConferenceError) -> Void in
                    try await store.store(good, as: name)
                })
            else {
                Issue.record("the name \(name) is taken")
                continue
            }
        }
        #expect(directory.files.isEmpty)
        let missing = await kind { () async throws(ConferenceError) -> Void in _ = try await store.file("a") }
        #expect(missing == .pictureNotFound)
    }

    @Test("A stored avatar is found by its name until it is deleted") func stored() async throws {
        let directory = ScratchDirectory(isMade: false)
        defer { withExtendedLifetime(directory) {} }
        let store = AvatarStore(directory: directory.path, logger: Logger(label: "test"))
        let file = try Self.png(600, 300)
        try await store.store(file, as: "anna@example.com")
        #expect(try await store.file("anna@example.com") == file)
        let found = await withCheckedContinuation { (done: CheckedContinuation<StillImage, Never>) in
            store.find("anna@example.com") { done.resume(returning: $0) }
        }
        #expect((found.width, found.height) == (256, 128))
        let png = try await store.png(found)
        #expect(try StillImage(png, limits: AvatarStore.limits).pixels == found.pixels)
        try await store.delete("anna@example.com")
        let gone = await kind { () async throws(ConferenceError) -> Void in
            try await store.delete("anna@example.com")
        }
        #expect(gone == .pictureNotFound)
    }

    @Test(
        "Jobs that wait for the disk are bounded: beyond that a request is refused, and pictures are decoded all the same"
    )
    func bounded() async throws {
        let directory = ScratchDirectory(isMade: false)
        defer { withExtendedLifetime(directory) {} }
        let store = AvatarStore(directory: directory.path, logger: Logger(label: "test"))
        let file = try Self.png(16, 16)
        try await store.store(file, as: "a")
        let gate = DispatchSemaphore(value: 0)
        store.lane.submit { gate.wait() }
        while store.lane.submit({}) {}
        let refusal = await kind { () async throws(ConferenceError) -> Void in _ = try await store.file("a") }
        _ = try await store.decode(file)
        gate.signal()
        guard case .atCapacity = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test("A participant's avatar comes by the API or by the name in its token, and goes with it") func inRooms()
        async throws
    {
        let directory = ScratchDirectory()
        defer { withExtendedLifetime(directory) {} }
        var settings = ConferenceConfiguration()
        settings.media.udp = [SocketAddress(.v4(0x7F00_0001), port: 0)]
        settings.media.tcp = []
        settings.recording.directory = directory.file("recordings")
        settings.layoutsDirectory = directory.file("layouts")
        settings.avatarsDirectory = directory.file("avatars")
        settings.savesWorkWhenOverloaded = false
        let conference = try Conference(settings, logger: Logger(label: "test"))
        try conference.start()
        let file = try Self.png(64, 64)
        try await conference.avatars.store(file, as: "ann")
        var request = AdmittedJoin(room: "r", name: "Ann")
        request.avatar = "ann"
        let ann = try conference.join(request) { _ in }
        let bob = try conference.join(AdmittedJoin(room: "r", name: "Bob")) { _ in }
        #expect(await eventually { (try? await conference.avatars.png(of: ann.id, in: "r")) != nil })
        let shown = try await conference.avatars.png(of: ann.id, in: "r")
        #expect(try StillImage(shown, limits: AvatarStore.limits).width == 64)
        func avatarFault(_ id: String) async -> ConferenceError? {
            await kind { () async throws(ConferenceError) -> Void in
                _ = try await conference.avatars.png(of: id, in: "r")
            }
        }
        #expect(await avatarFault(bob.id) == .pictureNotFound)
        try await conference.avatars.set(file, of: bob.id, in: "r")
        #expect(await avatarFault(bob.id) == nil)
        try await conference.avatars.set(nil, of: bob.id, in: "r")
        #expect(await avatarFault(bob.id) == .pictureNotFound)
        let nobody = await kind { () async throws(ConferenceError) -> Void in
            try await conference.avatars.set(file, of: "nobody", in: "r")
        }
        #expect(nobody == .participantNotFound("nobody"))
        // By the participant itself, at the rate of pictures.
        try await bob.setAvatar(file)
        #expect(await avatarFault(bob.id) == nil)
        try await bob.setAvatar(nil)
        #expect(await avatarFault(bob.id) == .pictureNotFound)
        let often = await kind { () async throws(ConferenceError) -> Void in
            for _ in 0..<10 { try await bob.setAvatar(file) }
        }
        #expect(often?.retryAfter != nil)
        await conference.drain(within: .seconds(2))
    }
}
