import Basics
import Dispatch
import Foundation
import Peer
import Sockets
import TestSupport
import Testing

@testable import Conference
@testable import RoomMedia

/// Ann has chat by events; Bob and Cem have it by a data channel; all over loopback.
@Suite("Chat by data channels", .serialized)
struct ChatChannelRealTimeTests {
    private struct Call {
        var conference: Conference
        var (ann, log): (Participant, ChatLog)
        var seats: [Participant]
        var clients: [LoopbackClient]
        var bob: LoopbackClient { clients[0] }
        /// The messages that Bob and Cem got since the call began.
        var bobs: [DataChannelMessage] { Self.messages(clients[0]) }
        var cems: [DataChannelMessage] { Self.messages(clients[1]) }

        static let open = DataChannelMessage.text("open?")

        private static func messages(_ client: LoopbackClient) -> [DataChannelMessage] {
            client.seen.messages.filter { $0 != open }
        }

        func send(_ bytes: [UInt8], label: String = "WebRTCData") async {
            _ = await bob.onLoop { $0.sendMessage(.binary(bytes), label: label, at: $1) }
        }
    }

    private func withCall(
        publicURL: String = "", _ body: (Call) async throws -> Void
    ) async throws {
        let scratch = ScratchDirectory(isMade: false)
        try await withConference {
            $0.pictures.directory = scratch.path + "/pictures"
            $0.publicURL = publicURL
        } _: { conference in
            let log = ChatLog()
            let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { log.take($0) }
            let clients = try (0..<2).map { _ in
                try LoopbackClient(codec: .vp8, colour: (81, 90, 220), tone: 500, sendsMedia: false)
            }
            defer { for client in clients { client.stop() } }
            var seats: [Participant] = []
            for (name, client) in zip(["Bob", "Cem"], clients) {
                var request = AdmittedJoin(room: "r", name: name)
                request.chatChannel = "WebRTCData"
                let seat = try conference.join(request) { event in
                    if case .chat = event.event { Issue.record("an event for one with a data channel") }
                }
                for label in ["WebRTCData", "other"] {
                    _ = await client.onLoop { $0.openChannel(label: label, at: $1) }
                }
                try await client.call { try await seat.offer($0) }
                seats.append(seat)
            }
            let call = Call(conference: conference, ann: ann, log: log, seats: seats, clients: clients)
            #expect(await eventually { clients.allSatisfy(\.seen.isConnected) })
            // The channels are open once a message has gone through them.
            for (number, client) in clients.enumerated() {
                let other = clients[1 - number]
                #expect(
                    await eventually {
                        await other.onLoop { $0.sendMessage(Call.open, label: "other", at: $1) }
                            && !client.seen.messages.isEmpty
                    })
            }
            try await body(call)
        }
    }

    private static func text(_ text: String) -> DataChannelMessage { .binary(Array(text.utf8)) }

    @Test("a message by signalling comes with the sender's name, as binary", .timeLimit(.minutes(1)))
    func fromSignalling() async throws {
        try await withCall { call in
            try call.ann.chat("hëllo")
            try call.ann.chat("psst", to: call.seats[0].id)
            try call.ann.chat("bye")
            #expect(
                await eventually {
                    call.bobs == ["Ann: hëllo", "Ann: psst", "Ann: bye"].map(Self.text)
                        && call.cems == ["Ann: hëllo", "Ann: bye"].map(Self.text)
                })
            #expect(await eventually { call.log.texts == ["hëllo", "psst", "bye"] })
        }
    }

    @Test(
        "a message by data channel goes to the channels unchanged and to the others as chat, once",
        .timeLimit(.minutes(1)))
    func fromChannel() async throws {
        try await withCall { call in
            await call.send(Array("grüezi".utf8))
            await call.send([0xC3, 0x28, 0xFF, 0x00])
            await call.send(Array(repeating: 0x61, count: ChatMessage.allowedLength.upperBound + 1))
            await call.send(Array("elsewhere".utf8), label: "other")
            _ = await call.bob.onLoop { $0.sendMessage(.text("as text"), label: "WebRTCData", at: $1) }
            #expect(await eventually { call.cems.count == 5 })
            #expect(call.cems.contains(Self.text("grüezi")))
            #expect(call.cems.contains(.binary([0xC3, 0x28, 0xFF, 0x00])))
            #expect(call.cems.contains(.text("as text")))
            #expect(await eventually { call.log.texts.count == 2 })
            #expect(call.log.texts == ["grüezi", "as text"], "no bytes, no long text, no other label")
            #expect(call.log.messages.allSatisfy { $0.from == call.seats[0].id && $0.fromName == "Bob" })
            #expect(call.ann.chatHistory == call.log.messages)
            #expect(call.bobs.isEmpty, "no echo")
        }
    }

    @Test("a picture by data channel is stored and told, and its bytes go on unchanged", .timeLimit(.minutes(1)))
    func pictureFromChannel() async throws {
        try await withCall { call in
            let bytes = fakePicture(bytes: 100 << 10)
            await call.send(bytes)
            #expect(await eventually { call.cems == [.binary(bytes)] })
            #expect(await eventually { call.log.messages.count == 1 })
            let picture = try #require(call.log.messages.first?.picture)
            #expect(picture.type == "image/jpeg" && call.log.messages[0].fromName == "Bob")
            #expect(try await call.conference.pictures.read(picture.id) == bytes)
            #expect(call.bobs.isEmpty, "no echo")
        }
    }

    @Test(
        "a picture by signalling goes as bytes where it fits, and as a line with a link where it does not",
        .timeLimit(.minutes(1)), arguments: ["", "https://meet.example"])
    func pictureFromSignalling(publicURL: String) async throws {
        try await withCall(publicURL: publicURL) { call in
            let (small, large) = (fakePicture(bytes: 200_000), fakePicture(.gif, bytes: 1_234_567))
            try await call.ann.sendPicture(small)
            let picture = try await call.ann.sendPicture(large)
            let link = publicURL.isEmpty ? "" : " https://meet.example/images/\(picture.id)"
            let expected = [.binary(small), Self.text("Ann: picture of 1.2 MB\(link)")]
            #expect(await eventually { call.bobs == expected && call.cems == expected })
        }
    }

    @Test(
        "a peer that reads too slowly for pictures gets lines in their place, and keeps its channel",
        .timeLimit(.minutes(1)))
    func slowReader() async throws {
        try await withCall { call in
            let gate = DispatchSemaphore(value: 0)
            call.bob.loop.execute { gate.wait() }
            // Four of them fill the backlog of 1 MiB.
            let pictures = (0..<5).map { fakePicture(bytes: 260_000, fill: UInt8($0)) }
            for picture in pictures { try await call.ann.sendPicture(picture) }
            try call.ann.chat("and?")
            #expect(await eventually { call.cems.count == 6 })
            gate.signal()
            let expected =
                pictures.prefix(4).map { .binary($0) } + ["Ann: picture of 0.3 MB", "Ann: and?"].map(Self.text)
            #expect(await eventually { call.bobs == expected })
        }
    }

    @Test("a viewer's messages go nowhere, and those above the rate stay on the channels", .timeLimit(.minutes(1)))
    func refused() async throws {
        try await withCall { call in
            for number in 0..<300 { await call.send(Array("\(number)".utf8)) }
            #expect(await eventually { call.cems.count == 300 }, "\(call.cems.count)")
            #expect((20...60).contains(call.log.texts.count))
            for number in 0..<10 { await call.send(fakePicture(bytes: 500, fill: UInt8(number))) }
            #expect(await eventually { call.cems.count == 310 })
            let refused = { (name: String) in
                call.conference.metrics().first {
                    $0.name == "tessera_limit_refusals_total" && $0.labels == ["name": name, "reason": "rate"]
                }?.value ?? 0
            }
            #expect(refused("chat") + Double(call.log.texts.count(where: { !$0.isEmpty })) == 300)
            #expect((1...5).contains(refused("picture")))

            var change = ParticipantChange()
            change.role = .viewer
            try call.conference.people.update(call.seats[0].id, in: "r", change)
            let before = call.log.messages.count
            await call.send(Array("I may not".utf8))
            #expect(
                await eventually {
                    call.conference.metrics().contains { $0.name == "tessera_messages_refused_total" && $0.value == 1 }
                })
            #expect(call.cems.count == 310)
            #expect(call.log.texts.last != "I may not" && call.log.messages.count <= before + 1)
        }
    }
}
