import Basics
import CSandbox
import Codecs
import Glibc
import Synchronization
import Testing
import Threads

@testable import Inputs

/// The server's side against a process that does as it likes: a thread of the test plays it. Time is simulated where a
/// limit must pass.
@Suite struct HostileProcessTests {
    private static let maxPixels = 640 * 360

    /// A clock that goes on by a second whenever somebody looks.
    private final class Hurry: Sendable {
        private let seconds = Atomic<Int64>(1000)
        var now: Instant {
            Instant.zero + .seconds(seconds.wrappingAdd(1, ordering: .relaxed).newValue)
        }
    }

    private struct Pair {
        let process: SourceProcess
        let reading: Channel
        let decoding: Channel
    }

    private func pair() throws -> Pair {
        let memory = sandbox_memory(PackedPicture.capacity(maxPixels: Self.maxPixels))
        defer { close(memory) }
        let (reading, theirReading) = try Channel.pair()
        let (decoding, theirDecoding) = try Channel.pair()
        let process = try SourceProcess(
            reading: reading, decoding: decoding, memory: memory, maxPixels: Self.maxPixels, process: nil)
        return Pair(process: process, reading: Channel(theirReading), decoding: Channel(theirDecoding))
    }

    private static let streams = SourceReply.Streams(hasVideo: true, hasAudio: true, rotation: 0, width: 64, height: 48)

    private func demuxer(
        _ pair: Pair, _ replies: [SourceReply], interrupt: ReadInterrupt = ReadInterrupt { MonotonicClock.now() },
        feed: SourceFeed = SourceFeed(main: nil, nested: nil)
    ) throws -> RemoteDemuxer {
        for reply in replies { try pair.reading.send(reply.message) }
        return try RemoteDemuxer(pair.process, interrupt: interrupt, feed: feed)
    }

    private func reason(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch { return "\(error)" }
    }

    @Test(
        arguments: [
            [
                .packet(
                    SourceReply.Packet(kind: .video, id: 1, byteCount: 1, isKeyframe: true, time: nil, duration: .zero))
            ],
            [.opened(SourceReply.Streams(hasVideo: false, hasAudio: false, rotation: 0, width: 0, height: 0))],
            [.connected, .connected], [.seek(9, to: 0)], [.read(0, count: 1)], [.nested("http://127.0.0.1/", nil)],
        ] as [[SourceReply]])
    func `answers that fit no request end the process`(replies: [SourceReply]) throws {
        let pair = try pair()
        #expect(reason { _ = try demuxer(pair, replies) }.contains("sent rubbish"))
    }

    @Test(
        arguments: [
            [0xFF, 0xFF, 0xFF, 0xFF, 1], [0, 0, 0, 0, 99], [0, 0, 0, 1, 1, 1], [0, 0, 0, 2, 5, 77, 0],
        ] as [[UInt8]])
    func `rubbish ends the process`(bytes: [UInt8]) throws {
        var ends: [Int32] = [-1, -1]
        #expect(sandbox_pair(&ends) == 0)
        let memory = sandbox_memory(PackedPicture.capacity(maxPixels: Self.maxPixels))
        defer { for descriptor in [memory, ends[1]] { close(descriptor) } }
        let process = try SourceProcess(
            reading: Channel(ends[0]), decoding: try Channel.pair().0, memory: memory, maxPixels: Self.maxPixels,
            process: nil)
        #expect(sandbox_send(ends[1], bytes, bytes.count, nil, 0) == bytes.count)
        shutdown(ends[1], Int32(SHUT_WR))
        let interrupt = ReadInterrupt { MonotonicClock.now() }
        let text = reason {
            _ = try RemoteDemuxer(process, interrupt: interrupt, feed: SourceFeed(main: nil, nested: nil))
        }
        #expect(text.contains("sent rubbish") || text.contains("has ended"), "\(text)")
    }

    @Test func `a process that is gone is told as such`() throws {
        let pair = try pair()
        let demuxer = try demuxer(pair, [.opened(Self.streams)])
        pair.reading.hangUp()
        #expect(reason { _ = try demuxer.next() } == "the process that decodes it has ended")
    }

    @Test func `a process that is silent is ended at the deadline`() throws {
        let (pair, hurry) = (try pair(), Hurry())
        let interrupt = ReadInterrupt { hurry.now }
        interrupt.setDeadline(hurry.now + .seconds(15))
        #expect(reason { _ = try demuxer(pair, [], interrupt: interrupt) } == "nothing came in time")
    }

    @Test func `a process that asks without end is ended at the deadline`() throws {
        let (pair, hurry) = (try pair(), Hurry())
        let interrupt = ReadInterrupt { hurry.now }
        interrupt.setDeadline(hurry.now + .seconds(500))
        let other = pair.reading
        DedicatedThread.start("flood") {
            while true {
                do { try other.send(SourceReply.close(1).message) } catch { return }
            }
        }
        #expect(reason { _ = try demuxer(pair, [], interrupt: interrupt) } == "nothing came in time")
        pair.process.finish()
    }

    @Test func `texts of the process have no control characters and an end`() throws {
        let pair = try pair()
        let text = reason {
            _ = try demuxer(pair, [.failed(.failed, "a\u{1B}[2J\n" + String(repeating: "x", count: 100_000))])
        }
        #expect(text.hasPrefix("a [2J x") && text.utf8.count <= 300)
    }

    // MARK: - Decoders

    private func decode(_ replies: [DecodingReply], clock: @escaping () -> Instant) throws -> (String, Int) {
        let pair = try pair()
        for reply in replies { try pair.decoding.send(reply.message) }
        let decoding = RemoteDecoding(pair.process, isCancelled: { false }, clock: clock)
        var count = 0
        let text = reason {
            try RemoteVideoDecoder(decoding, rotation: .none, width: 64, height: 48).decode(nil) { _, _ in count += 1 }
        }
        return (text, count)
    }

    @Test func `pictures come through the shared memory`() throws {
        let (text, count) = try decode(
            [
                .picture(width: 64, height: 48, time: .zero), .picture(width: 63, height: 47, time: nil),
                .done(width: 64, height: 48, isFaulty: false),
            ],
            clock: { .zero })
        #expect(text.isEmpty && count == 2)
    }

    @Test(
        arguments: [(0, 48), (64, 0), (640, 361), (65_536, 1), (1, 16_385), (.max, .max), (1 << 16, 1 << 16)]
            as [(UInt32, UInt32)])
    func `a picture of a size that is not there ends the process`(width: UInt32, height: UInt32) throws {
        let (text, count) = try decode([.picture(width: width, height: height, time: .zero)], clock: { .zero })
        #expect(text.contains("sent rubbish") && count == 0, "\(text)")
    }

    @Test func `pictures without end end the process`() throws {
        let picture = DecodingReply.picture(width: 2, height: 2, time: .zero)
        let (text, count) = try decode(Array(repeating: picture, count: 200), clock: { .zero })
        #expect(text.contains("sent rubbish") && count == 64, "\(text)")
    }

    @Test func `samples without end end the process`() throws {
        let pair = try pair()
        let other = pair.decoding
        DedicatedThread.start("flood") {
            let message = DecodingReply.samples([Float](repeating: 0, count: 100_000), time: nil).message
            while true {
                do { try other.send(message) } catch { return }
            }
        }
        let decoding = RemoteDecoding(pair.process, isCancelled: { false }, clock: { .zero })
        var samples: [Float] = []
        let text = reason { _ = try RemoteAudioDecoder(decoding).decode(nil, into: &samples) }
        #expect(text.contains("sent rubbish") && samples.isEmpty, "\(text)")
        pair.process.finish()
    }

    @Test func `a decoder that stalls is ended after its limit`() throws {
        let hurry = Hurry()
        let (text, _) = try decode([], clock: { hurry.now })
        #expect(text.contains("a decoder took longer than 5.0 seconds"), "\(text)")
    }
}
