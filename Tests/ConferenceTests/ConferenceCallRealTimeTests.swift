import Basics
import Codecs
import Logging
import Peer
import TestSupport
import Testing

@testable import Conference
@testable import RoomMedia

/// A whole conference on loopback, with real sockets and threads. Waits are bounded, and end as soon as their condition
/// holds.
@Suite("A call through a conference", .serialized)
struct ConferenceCallRealTimeTests {
    private final class Log: Sendable {
        private let events = Guarded<[ParticipantEvent]>([])
        func take(_ told: SharedEvent) { events.withLock { $0.append(told.event) } }
        var all: [ParticipantEvent] { events.withLock { $0 } }
    }

    private func conference(_ scratch: ScratchDirectory) throws -> Conference {
        var settings = ConferenceConfiguration.onLoopback(scratch)
        settings.rooms.settings.width = 640
        settings.rooms.settings.height = 360
        // Both see the common picture.
        settings.rooms.settings.withoutSelf = false
        settings.video.renditions = [
            .init(height: 360, bitRate: .kilobits(600)), .init(height: 180, bitRate: .kilobits(150)),
        ]
        // The tones are heard at the levels at which they were sent.
        settings.audio.level = .off
        // However slow the machine is: this test needs one room only.
        settings.savesWorkWhenOverloaded = false
        let conference = try Conference(settings, logger: Logger(label: "test"))
        try conference.start()
        return conference
    }

    /// The colour in the middle of a participant's tile.
    private func colour(of participant: String, in tiles: TilesInfo, _ picture: Picture) -> (Int, Int, Int)? {
        guard let tile = tiles.tiles.first(where: { $0.participant == participant }) else { return nil }
        let x = (tile.x + tile.width / 2) * picture.width / tiles.width
        let y = (tile.y + tile.height / 2) * picture.height / tiles.height
        let chroma = (y / 2) * picture.uStride + x / 2
        return (Int(picture.y[y * picture.yStride + x]), Int(picture.u[chroma]), Int(picture.v[chroma]))
    }

    private func isNear(_ a: (Int, Int, Int)?, _ b: (y: UInt8, u: UInt8, v: UInt8)) -> Bool {
        guard let a else { return false }
        return abs(a.0 - Int(b.y)) < 14 && abs(a.1 - Int(b.u)) < 14 && abs(a.2 - Int(b.v)) < 14
    }

    @Test("two people see each other's colour in the tile, hear the other and not themselves, and are recorded")
    func call() async throws {
        let scratch = ScratchDirectory(isMade: false)
        defer { withExtendedLifetime(scratch) {} }
        let conference = try conference(scratch)
        let red = (y: UInt8(81), u: UInt8(90), v: UInt8(220))
        let blue = (y: UInt8(60), u: UInt8(220), v: UInt8(110))
        let ann = try LoopbackClient(codec: .h264, colour: red, tone: 600)
        let bob = try LoopbackClient(codec: .vp8, colour: blue, tone: 1400)
        let logs = (Log(), Log())
        let annSeat = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { logs.0.take($0) }
        let bobSeat = try conference.join(AdmittedJoin(room: "r", name: "Bob")) { logs.1.take($0) }
        try await ann.call { try await annSeat.offer($0) }
        try await bob.call { try await bobSeat.offer($0) }
        _ = await ann.onLoop { $0.openChannel(label: "board", at: $1) }
        _ = await bob.onLoop { $0.openChannel(label: "board", at: $1) }

        #expect(await eventually { ann.seen.isConnected && bob.seen.isConnected })
        #expect(ann.seen.failure == nil && bob.seen.failure == nil)
        for (client, codec) in [(ann, VideoCodec.h264), (bob, .vp8)] {
            let isRight = await eventually {
                guard let picture = client.seen.picture, let tiles = conference.rooms.room("r")?.tiles,
                    tiles.tiles.count == 2
                else {
                    return false
                }
                return isNear(colour(of: annSeat.id, in: tiles, picture), red)
                    && isNear(colour(of: bobSeat.id, in: tiles, picture), blue)
            }
            #expect(
                isRight,
                "\(codec): \(client.seen.frames) frames, \(String(describing: conference.rooms.room("r")?.tiles))")
            #expect(client.seen.codec == codec)
        }

        let recording = try await conference.recordings.start("r")
        ann.forgetAudio()
        bob.forgetAudio()
        #expect(await eventually { ann.seen.audio.count > 96_000 && bob.seen.audio.count > 96_000 })
        let heard = (ann.seen.audio.suffix(48_000), bob.seen.audio.suffix(48_000))
        #expect(meanStrength(of: 1400, in: heard.0) > 0.1)
        #expect(meanStrength(of: 600, in: heard.0) < 0.01)
        #expect(meanStrength(of: 600, in: heard.1) > 0.1)
        #expect(meanStrength(of: 1400, in: heard.1) < 0.01)

        #expect(await eventually { await ann.onLoop { $0.sendMessage(.text("hello"), label: "board", at: $1) } })
        #expect(await eventually { bob.seen.messages == [.text("hello")] })
        #expect(ann.seen.messages.isEmpty)

        let png = try await conference.rooms.snapshot("r")
        #expect(png.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        let statistics = try await conference.people.statistics(annSeat.id, in: "r")
        #expect(statistics.receivedVideo.frames > 0 && statistics.sentVideo.frames > 0)

        let finished = try await conference.recordings.stop(recording.id)
        #expect(finished.state == .finished)
        #expect((finished.duration ?? .zero) > .seconds(1), "\(finished)")
        #expect((finished.bytes ?? 0) > 1000)

        // A personal view, and a viewer who stands for Ann: her mix, without her voice.
        try bobSeat.setLayout("single", scope: .me, pins: [annSeat.id])
        #expect(
            await eventually {
                guard let picture = bob.seen.picture else { return false }
                let edge = (picture.width - 40, picture.height / 2)
                let chroma = edge.1 / 2 * picture.uStride + edge.0 / 2
                return isNear(
                    (Int(picture.y[edge.1 * picture.yStride + edge.0]), Int(picture.u[chroma]), Int(picture.v[chroma])),
                    red)
            })
        let eve = try LoopbackClient(codec: .h264, colour: blue, tone: 2500)
        let viewer = try conference.join(
            AdmittedJoin(room: "r", name: "Eve", role: .viewer, kind: .viewer, asParticipant: annSeat.id)
        ) { _ in }
        try await eve.call { try await viewer.offer($0) }
        #expect(await eventually { eve.seen.audio.count > 96_000 && eve.seen.frames > 5 })
        let eveHears = eve.seen.audio.suffix(24_000)
        #expect(meanStrength(of: 1400, in: eveHears) > 0.1)
        #expect(meanStrength(of: 600, in: eveHears) < 0.01)
        #expect(meanStrength(of: 2500, in: eveHears) < 0.01)
        #expect(conference.rooms.room("r")?.tiles.tiles.count == 2, "a viewer has no tile")
        viewer.leave()
        eve.stop()

        bobSeat.leave()
        #expect(await eventually { conference.rooms.room("r")?.tiles.tiles.count == 1 })
        let frames = ann.seen.frames
        #expect(await eventually(.seconds(5)) { ann.seen.frames > frames })
        await conference.drain(within: .seconds(5))
        let ending = logs.0.all.contains { if case .left(.draining) = $0 { true } else { false } }
        #expect(ending)
        ann.stop()
        bob.stop()
    }
}
