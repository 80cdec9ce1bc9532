import Basics
import Foundation
import TestSupport
import Testing
import Threads

@testable import Conference

/// The chat messages that one participant gets as events.
final class ChatLog: Sendable {
    private let kept = Guarded<[ChatMessage]>([])
    var messages: [ChatMessage] { kept.withLock { $0 } }
    var texts: [String] { messages.map(\.text) }

    func take(_ event: SharedEvent) {
        if case .chat(let message) = event.event { kept.withLock { $0.append(message) } }
    }
}

@Suite("Chat by signalling", .serialized)
struct ChatTests {
    private let scratch = ScratchDirectory(isMade: false)

    private func withChat(_ body: (Conference) async throws -> Void) async throws {
        try await withConference(
            { [scratch] in $0.pictures.directory = scratch.path + "/pictures" }, body)
    }

    private func join(
        _ conference: Conference, _ name: String, role: Role = .participant, kind: JoinRequest.Kind = .participant
    ) throws -> (seat: Participant, log: ChatLog) {
        let log = ChatLog()
        return (
            try conference.join(AdmittedJoin(room: "r", name: name, role: role, kind: kind)) { log.take($0) }, log
        )
    }

    private func value(_ conference: Conference, _ name: String, _ labels: [String: String]) -> Double? {
        conference.metrics().first { $0.name == name && $0.labels == labels }?.value
    }

    /// Whether a picture was written.
    private var isFolderThere: Bool { FileManager.default.fileExists(atPath: scratch.path + "/pictures") }

    @Test("everyone gets a message once, the sender too, and late joiners in the history")
    func everyone() async throws {
        try await withChat { conference in
            let (ann, bob) = (try join(conference, "Ann"), try join(conference, "Bob"))
            let viewer = try join(conference, "Eve", kind: .viewer)
            try ann.seat.chat("hello")
            try bob.seat.chat("hi")
            #expect(await eventually { [ann, bob, viewer].allSatisfy { $0.log.texts == ["hello", "hi"] } })
            let first = ann.log.messages[0]
            #expect(first.fromName == "Ann" && first.from == ann.seat.id && first.to == nil)
            #expect(Set(ann.log.messages.map(\.id)).count == 2)
            let late = try join(conference, "Late")
            #expect(late.seat.chatHistory == ann.log.messages)
            #expect(late.log.texts.isEmpty)
        }
    }

    @Test("a private message goes to its receiver and its sender, and not into the history")
    func privately() async throws {
        try await withChat { conference in
            let (ann, bob, eve) = (
                try join(conference, "Ann"), try join(conference, "Bob"), try join(conference, "Eve")
            )
            try ann.seat.chat("psst", to: bob.seat.id)
            let picture = try await ann.seat.sendPicture(fakePicture(), to: bob.seat.id)
            try ann.seat.chat("all")
            #expect(await eventually { eve.log.texts == ["all"] && bob.log.texts == ["psst", "", "all"] })
            #expect(await eventually { ann.log.texts == bob.log.texts })
            #expect(bob.log.messages[1].picture == picture && bob.log.messages[1].to == bob.seat.id)
            #expect(ann.log.messages == bob.log.messages)
            #expect(eve.seat.chatHistory.map(\.text) == ["all"])
            #expect { try ann.seat.chat("x", to: "nobody") } throws: {
                ($0 as? ConferenceError)?.kind == "participantNotFound"
            }
        }
    }

    @Test("a picture is stored and told to everyone")
    func picture() async throws {
        try await withChat { conference in
            let (ann, bob) = (try join(conference, "Ann"), try join(conference, "Bob"))
            let bytes = fakePicture(.png, bytes: 100_000)
            let picture = try await ann.seat.sendPicture(bytes)
            #expect(picture.type == "image/png" && picture.bytes == 100_000)
            #expect(await eventually { [ann, bob].allSatisfy { $0.log.messages.map(\.picture) == [picture] } })
            #expect(bob.log.messages == ann.log.messages && bob.log.messages[0].fromName == "Ann")
            #expect(try await conference.pictures.read(picture.id) == bytes)
            #expect(bob.seat.chatHistory.map(\.picture) == [picture])
        }
    }

    @Test("viewers, and who has left, can send nothing, and nothing of theirs is stored")
    func refused() async throws {
        try await withChat { conference in
            let ann = try join(conference, "Ann")
            for viewer in [try join(conference, "V", role: .viewer), try join(conference, "W", kind: .viewer)] {
                await #expect { try await viewer.seat.sendPicture(fakePicture()) } throws: {
                    ($0 as? ConferenceError)?.kind == "forbidden"
                }
            }
            await #expect { try await ann.seat.sendPicture(fakePicture(), to: "nobody") } throws: {
                ($0 as? ConferenceError)?.kind == "participantNotFound"
            }
            await #expect { try await ann.seat.sendPicture(Array("<html>".utf8)) } throws: {
                ($0 as? ConferenceError)?.kind == "badPicture"
            }
            let gone = try join(conference, "Gone")
            gone.seat.leave()
            await #expect(throws: ConferenceError.self) { try await gone.seat.sendPicture(fakePicture()) }
            #expect(!isFolderThere && ann.seat.chatHistory.isEmpty)
        }
    }

    @Test("a room that stays without anyone forgets its chat when other rooms end")
    func forgetting() async throws {
        try await withConference({ $0.rooms.create = .api }) { conference in
            try conference.rooms.create("r", RoomSettingsChange())
            let ann = try join(conference, "Ann")
            try ann.seat.chat("for now")
            ann.seat.leave()
            let left = MonotonicClock.now()
            conference.expiry.expire(at: left + .seconds(29))
            let back = try join(conference, "Back")
            #expect(back.seat.chatHistory.map(\.text) == ["for now"])
            conference.expiry.expire(at: left + .seconds(3600))
            #expect(back.seat.chatHistory.map(\.text) == ["for now"], "as long as somebody is there")
            back.seat.leave()
            conference.expiry.expire(at: MonotonicClock.now() + .seconds(31))
            #expect(conference.rooms.room("r") != nil)
            #expect(try join(conference, "Next day").seat.chatHistory.isEmpty)
        }
    }

    @Test("who holds a seat's secret acts for it, and nobody else")
    func secret() async throws {
        try await withChat { conference in
            let ann = try join(conference, "Ann")
            let same = try conference.participant(ann.seat.id, secret: ann.seat.resumeSecret, in: "r")
            try same.chat("from elsewhere")
            #expect(await eventually { ann.log.texts == ["from elsewhere"] })
            for (id, secret, room) in [
                (ann.seat.id, "wrong", "r"), (ann.seat.id, "", "r"), ("nobody", ann.seat.resumeSecret, "r"),
                (ann.seat.id, ann.seat.resumeSecret, "elsewhere"),
            ] {
                #expect(throws: ConferenceError.self) { try conference.participant(id, secret: secret, in: room) }
            }
        }
    }

    @Test("texts and pictures above the rate are refused, counted, and not stored")
    func rates() async throws {
        try await withChat { conference in
            let (ann, bob) = (try join(conference, "Ann"), try join(conference, "Bob"))
            let said = (0..<1000).count { (try? ann.seat.chat("\($0)")) != nil }
            #expect((20...40).contains(said))
            var sent = 0
            for _ in 0..<20 { if (try? await ann.seat.sendPicture(fakePicture())) != nil { sent += 1 } }
            #expect((5...10).contains(sent))
            #expect(await eventually { bob.log.messages.count == said + sent })
            #expect(bob.seat.chatHistory.count == said + sent)
            let refused = value(conference, "tessera_limit_refusals_total", ["name": "picture", "reason": "rate"])
            #expect(refused == Double(20 - sent))
            let stored = try FileManager.default.contentsOfDirectory(atPath: scratch.path + "/pictures")
            #expect(stored.count == sent)
        }
    }
}
