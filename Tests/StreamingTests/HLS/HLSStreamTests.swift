import Basics
import TestSupport
import Testing

@testable import Streaming

@Suite struct HLSStreamTests {
    private func stream(_ memory: HLSMemory = HLSMemory()) throws -> HLSStream {
        try HLSStream(id: "abc", epoch: 0, memory: memory) {}
    }

    /// Frames of so many seconds from a time on, a keyframe first.
    private func run(_ stream: HLSStream, from start: Double = 0, _ seconds: Double) {
        for index in 0..<Int(seconds * 30) {
            let time = Int64(start * 90_000) + Int64(index) * 3000
            stream.append(
                EncodedVideoFrame(
                    codec: .h264, data: index == 0 ? HLSFeed.small : HLSFeed.difference, isKeyframe: index == 0,
                    timestamp: time))
            if index % 3 == 0 {
                for tick in 0..<5 {
                    stream.append(
                        audio: [Float](repeating: 0, count: 960), timestamp: time * 8 / 15 + Int64(tick) * 960)
                }
            }
        }
    }

    @Test func `requests wait for the part that they name, and all get the same`() async throws {
        let stream = try stream()
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    guard case .ready(let window) = await stream.playlist(segment: 0, part: 1) else { return nil }
                    return window.playlist(query: "")
                }
            }
            #expect(await eventually { stream.waiting == 200 })
            run(stream, 1.2)
            var texts: Set<String?> = []
            for await text in group { texts.insert(text) }
            #expect(texts.count == 1 && texts.first??.contains("abc-p1.m4s") == true)
        }
        #expect(stream.waiting == 0)
    }

    @Test func `the next part is waited for, and others are not`() async throws {
        let stream = try stream()
        run(stream, 0.6)
        #expect(await eventually { stream.window.nextPart == 1 })
        async let next = stream.media(.part(1))
        #expect(await eventually { stream.waiting == 1 })
        #expect(await stream.media(.part(2)) == nil)
        run(stream, from: 0.6, 0.6)
        #expect(await next?.first?.isEmpty == false)
    }

    @Test func `a request that is given up waits no more, and the end answers all`() async throws {
        let stream = try stream()
        let given = Task { await stream.playlist(segment: 0, part: 0) }
        #expect(await eventually { stream.waiting == 1 })
        given.cancel()
        guard case .timeout = await given.value else { return #expect(Bool(false)) }
        #expect(stream.waiting == 0)
        async let other = stream.playlist(segment: 0, part: 0)
        #expect(await eventually { stream.waiting == 1 })
        stream.end()
        guard case .ready(let window) = await other else { return #expect(Bool(false)) }
        #expect(window.isEnded)
    }

    @Test func `requests end after fifteen seconds`() {
        var readers = HLSReaders()
        let answers = Guarded<[String]>([])
        _ = readers.add(.playlist(segment: 0, part: 0)) { answer in
            if case .timeout = answer { answers.withLock { $0.append("timeout") } }
        }
        for _ in 0..<14 { for (answer, value) in readers.expire() { answer(value) } }
        #expect(answers.withLock { $0 }.isEmpty)
        for (answer, value) in readers.expire() { answer(value) }
        #expect(answers.withLock { $0 } == ["timeout"] && readers.isEmpty)
    }

    @Test func `memory is counted for all streams, and beyond it a stream keeps less`() async throws {
        let memory = HLSMemory(inAll: 10_000)
        do {
            let stream = try stream(memory)
            for start in 0..<6 { run(stream, from: Double(start) * 4, 4) }
            #expect(await eventually { stream.window.nextSegment == 6 && stream.waiting == 0 })
            #expect(memory.byteCount == stream.window.byteCount)
            #expect(memory.byteCount < 16_000, "\(memory.byteCount)")
        }
        #expect(await eventually { memory.byteCount == 0 })
    }

    @Test func `a rest is a discontinuity`() async throws {
        let stream = try stream()
        run(stream, 1.2)
        stream.rest()
        stream.resume()
        run(stream, from: 100, 1.2)
        #expect(await eventually { stream.window.playlist(query: "").contains("#EXT-X-DISCONTINUITY\n") })
        #expect(stream.window.playlist(query: "").contains("#EXTINF:1.2"))
    }
}
