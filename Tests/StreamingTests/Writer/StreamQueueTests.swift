import Basics
import Testing

@testable import Streaming

@Suite struct StreamQueueTests {
    private func frame(_ milliseconds: Int64, key: Bool = false, bytes: Int = 100) -> StreamQueue.Item {
        .video(
            EncodedVideoFrame(
                codec: .h264, data: [UInt8](repeating: 1, count: bytes), isKeyframe: key, timestamp: milliseconds * 90))
    }

    private func times(_ queue: StreamQueue) -> [Int64] { queue.next(until: .zero).map(\.time) }

    @Test func `Media begins with a keyframe, while a connection takes it`() {
        let queue = StreamQueue()
        #expect(queue.append(frame(0, key: true)) == .dropped)
        queue.open()
        #expect(queue.append(frame(10)) == .dropped)
        #expect(queue.append(.audio(.init(data: [1], time: 480))) == .dropped)
        #expect(queue.append(frame(20, key: true)) == .taken)
        #expect(queue.append(.audio(.init(data: [1], time: 960))) == .taken)
        #expect(queue.append(frame(30)) == .taken)
        #expect(times(queue) == [20, 20, 30])
        #expect(times(queue).isEmpty)
        queue.close()
        #expect(queue.append(frame(40, key: true)) == .dropped)
    }

    @Test func `A connection that takes nothing costs two seconds of media, and goes on with a keyframe`() {
        let queue = StreamQueue()
        queue.open()
        #expect(queue.append(frame(0, key: true)) == .taken)
        for time in stride(from: Int64(40), through: 2000, by: 40) { #expect(queue.append(frame(time)) == .taken) }
        #expect(queue.append(frame(2040)) == .overflowed)
        #expect(queue.append(frame(2080)) == .dropped)
        #expect(queue.append(frame(2120, key: true)) == .taken)
        #expect(times(queue) == [2120])
        #expect(queue.dropped == 53)
    }

    @Test func `Large frames are bounded by their bytes`() {
        let queue = StreamQueue()
        queue.open()
        #expect(queue.append(frame(0, key: true, bytes: StreamQueue.largest)) == .taken)
        #expect(queue.append(frame(1)) == .overflowed)
    }

    @Test func `After the end nothing waits and nothing is taken`() {
        let queue = StreamQueue()
        queue.open()
        queue.end()
        #expect(queue.append(frame(0, key: true)) == .dropped)
        #expect(queue.next(until: .distantFuture).isEmpty)
        queue.rest(until: .distantFuture)
    }
}
