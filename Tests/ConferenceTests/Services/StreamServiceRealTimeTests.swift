import Basics
import Glibc
import Streaming
import TestSupport
import Testing
import Threads

@testable import Conference

/// A TCP port whose connections are made by the kernel and served by nobody.
private final class SilentServer {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (descriptor, length) = (descriptor, size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, pointer, &size) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
    }

    func close() { Glibc.close(descriptor) }
    deinit { close() }
}

@Suite("Streams of rooms", .serialized)
struct StreamServiceRealTimeTests {
    private func withStreams(_ body: (Conference) async throws -> Void) async throws {
        try await withConference(
            {
                $0.streams.hosts = [HostPattern("127.0.0.1")].compactMap { $0 }
                $0.streams.maxPerRoom = 2
            }, body)
    }

    private func kinds(_ conference: Conference) -> [ServerEvent.Kind] {
        conference.events.page(after: 0, limit: 1000).events.map(\.event.happening.kind).filter {
            $0.rawValue.hasPrefix("stream.")
        }
    }

    @Test("a server that does not answer delays neither the start nor the end, and everyone is told")
    func silence() async throws {
        let server = try SilentServer()
        try await withStreams { conference in
            let told = Guarded<[Bool]>([])
            let seat = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { event in
                if case .streaming(let isStreamed) = event.event { told.withLock { $0.append(isStreamed) } }
            }
            let url = "rtmp://127.0.0.1:\(server.port)/app/s3cret"
            let begun = MonotonicClock.now()
            let stream = try conference.streams.start("r", StreamRequest(url: url))
            #expect(stream.state == .connecting && stream.url == "rtmp://127.0.0.1:\(server.port)/app/…")
            #expect(seat.isStreamed && conference.rooms.room("r")?.isStreamed == true)
            #expect(throws: ConferenceError.conflict("Room “r” is being streamed to this URL already.")) {
                try conference.streams.start("r", StreamRequest(url: url))
            }
            // Of two states only the newer one is told where the first is not delivered yet.
            #expect(await eventually { told.withLock { $0 } == [true] })
            let ended = try await conference.streams.end(stream.id, in: "r")
            #expect(MonotonicClock.now() - begun < .seconds(3))
            #expect(ended.state == .ended && !seat.isStreamed)
            #expect(try conference.streams.list("r").map(\.id) == [stream.id])
            #expect(await eventually { told.withLock { $0 } == [true, false] })
            #expect(kinds(conference) == [.streamStarted, .streamEnded])
        }
    }

    @Test("a server that is not there is tried again, and told once")
    func retries() async throws {
        let server = try SilentServer()
        server.close()
        try await withStreams { conference in
            try conference.rooms.create("r", RoomSettingsChange())
            let url = "rtmp://127.0.0.1:\(server.port)/app/s3cret"
            let stream = try conference.streams.start("r", StreamRequest(url: url))
            #expect(
                await eventually {
                    let now = try? conference.streams.stream(stream.id, in: "r").state
                    guard case .retrying(_, let attempts, let reason)? = now else { return false }
                    return attempts == 2 && reason.contains("refused") && !reason.contains("s3cret")
                })
            #expect(kinds(conference) == [.streamStarted, .streamRetrying])
            try conference.streams.start("r", StreamRequest(url: url + "2"))
            #expect(throws: ConferenceError.self) { try conference.streams.start("r", StreamRequest(url: url + "3")) }
            try conference.rooms.end("r")
            #expect(await eventually { kinds(conference).filter { $0 == .streamEnded }.count == 2 })
            #expect(conference.metrics().filter { $0.name == "tessera_streams" }.allSatisfy { $0.value == 0 })
        }
    }

    @Test("a view that is streamed cannot be removed")
    func views() async throws {
        try await withStreams { conference in
            var change = RoomSettingsChange()
            change.views["upright"] = ViewSettings()
            try conference.rooms.create("r", change)
            let request = StreamRequest(url: "srt://127.0.0.1:9", view: "upright")
            let stream = try conference.streams.start("r", request)
            change.views["upright"] = .some(nil)
            #expect(throws: ConferenceError.conflict("View “upright” is being streamed: end the stream first.")) {
                try conference.rooms.update("r", change)
            }
            try await conference.streams.end(stream.id, in: "r")
            try conference.rooms.update("r", change)
        }
    }
}
