import Basics
import Peer
import TestSupport
import Testing

@testable import Conference
@testable import RoomMedia

@Suite("A room on many loops", .serialized)
struct ManyLoopsRealTimeTests {
    private let colour = (y: UInt8(81), u: UInt8(90), v: UInt8(220))

    @Test(
        "people on four loops and two audio threads see and hear one another, and get each other's messages once",
        .timeLimit(.minutes(1)))
    func call() async throws {
        try await withConference { settings in
            settings.media.loops = 4
            settings.audioThreads = 2
            settings.savesWorkWhenOverloaded = false
            settings.rooms.settings.width = 320
            settings.rooms.settings.height = 180
            settings.video.renditions = [.init(height: 180, bitRate: .kilobits(150))]
        } _: { conference in
            let clients = try (0..<6).map {
                try LoopbackClient(codec: $0 % 2 == 0 ? .h264 : .vp8, colour: colour, tone: 500 + Double($0) * 300)
            }
            defer { for client in clients { client.stop() } }
            var seats: [Participant] = []
            for (number, client) in clients.enumerated() {
                var request = AdmittedJoin(room: "r", name: "Guest \(number)")
                request.chatChannel = number == 2 ? nil : "board"
                let seat = try conference.join(request) { _ in }
                seats.append(seat)
                try await client.call { try await seat.offer($0) }
                _ = await client.onLoop { $0.openChannel(label: "board", at: $1) }
            }
            let places = seats.compactMap { conference.media.peers.host(of: $0.id)?.index }
            #expect(Set(places) == [0, 1, 2, 3])
            #expect(await eventually { clients.allSatisfy { $0.seen.isConnected && $0.seen.frames > 10 } })
            // Each participant hears another one on another loop, and not itself. On a busy machine this may take a while:
            // a concealed gap has something of all tones.
            for client in clients { client.forgetAudio() }
            let heard = { (number: Int, tone: Double) -> Double? in
                let audio = clients[number].seen.audio
                return audio.count < 24_000 ? nil : meanStrength(of: tone, in: audio.suffix(24_000))
            }
            let hearOthersAlone = {
                (heard(0, 1400) ?? 0) > 0.03 && (heard(3, 500) ?? 0) > 0.03 && (heard(0, 500) ?? 1) < 0.01
                    && (heard(3, 1400) ?? 1) < 0.01
            }
            #expect(await eventually(.seconds(30), hearOthersAlone))

            #expect(
                await eventually { await clients[1].onLoop { $0.sendMessage(.text("hello"), label: "board", at: $1) } })
            try seats[2].chat("from signalling")
            let others = clients.enumerated().filter { ![1, 2].contains($0.offset) }.map(\.element)
            #expect(await eventually { others.allSatisfy { $0.seen.messages.count == 2 } })
            #expect(await eventually { clients[1].seen.messages == [.binary(Array("Guest 2: from signalling".utf8))] })
            #expect(await eventually { clients[2].seen.messages == [.text("hello")] })

            // The system gives all six flows to the loops of their peers with a probability of 1 in 4096.
            let samples = conference.metrics()
            #expect((samples.first { $0.name == "tessera_datagrams_handed_over_total" }?.value ?? 0) > 0)
            #expect(samples.first { $0.name == "tessera_datagrams_handover_dropped_total" }?.value == 0)

            // Every loop removes a participant that leaves, and the next one takes its place.
            seats[0].leave()
            #expect(await eventually { conference.media.peers.host(of: seats[0].id) == nil })
            let next = try conference.join(AdmittedJoin(room: "r", name: "Next")) { _ in }
            let newcomer = try LoopbackClient(codec: .vp8, colour: colour, tone: 700)
            defer { newcomer.stop() }
            try await newcomer.call { try await next.offer($0) }
            #expect(await eventually { newcomer.seen.frames > 10 })
        }
    }

    @Test(
        "rooms are spread over the audio threads, and their participants are counted down at the end",
        .timeLimit(.minutes(1)))
    func audioThreads() async throws {
        try await withConference { settings in
            settings.audioThreads = 2
        } _: { conference in
            let loads = { conference.media.audioClocks.map(\.load) }
            let seats = try (0..<4).map { number in
                try conference.join(AdmittedJoin(room: "r\(number)", name: "A")) { _ in }
            }
            #expect(loads() == [10, 10], "two rooms of one each")
            for seat in seats { seat.withdraw() }
            #expect(await eventually { loads() == [0, 0] })
        }
    }
}
