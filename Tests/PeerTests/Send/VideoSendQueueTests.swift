import Basics
import Testing

@testable import Peer

@Suite("VideoSendQueue")
struct VideoSendQueueTests {
    private let start = Instant(nanoseconds: 3_000_000_000)

    private func entry(size: Int, key: Bool = false, after pause: Duration = .zero) -> VideoSendQueue.Entry {
        let frame = PacketizedVideoFrame(
            EncodedVideoFrame(
                codec: .vp8, data: [UInt8](repeating: 1, count: size), isKeyframe: key, temporalLayer: 0, timestamp: 0))
        return VideoSendQueue.Entry(
            frame: frame, codec: OutgoingCodec(payloadType: 96, usesNack: true), queued: start + pause, timestamp: 0)
    }

    @Test("Fragments leave in order with the last of each frame marked, and the byte count ends at zero")
    func order() {
        var queue = VideoSendQueue()
        for size in [3000, 1, 0, 1100, 2500] { queue.append(entry(size: size)) }
        #expect(queue.bytes == 6601 && queue.count == 5)
        var sizes: [Int] = []
        var waiting = queue.bytes
        while let (entry, fragment, isLast) = queue.takeFragment() {
            let size = entry.frame.fragments[fragment].range.count
            waiting -= size
            #expect(queue.bytes == waiting)
            #expect(isLast == entry.frame.fragments[fragment].isLast)
            sizes.append(size)
        }
        #expect(sizes == [1000, 1000, 1000, 1, 1100, 834, 834, 832])
        #expect(queue.isEmpty && queue.bytes == 0)
        #expect(queue.takeFragment() == nil)
    }

    @Test("A frame is late after 0.8 s, and a keyframe after 2 s")
    func late() {
        for (isKey, limit) in [(false, 800), (true, 2000)] {
            var queue = VideoSendQueue()
            #expect(!queue.isLate(at: start + .seconds(100)) && queue.delay(at: start) == .zero)
            queue.append(entry(size: 100, key: isKey))
            queue.append(entry(size: 100, after: .milliseconds(30)))
            #expect(!queue.isLate(at: start + .milliseconds(limit)))
            #expect(queue.isLate(at: start + .milliseconds(limit + 1)))
            #expect(queue.delay(at: start + .milliseconds(500)) == .milliseconds(500))
            _ = queue.takeFragment()
            #expect(queue.delay(at: start + .milliseconds(500)) == .milliseconds(470))
        }
    }

    @Test("A cut keeps a frame that is partly sent, and removes all others")
    func cut() throws {
        var queue = VideoSendQueue()
        for _ in 0..<3 { queue.append(entry(size: 2000)) }
        _ = queue.takeFragment()
        #expect(queue.cut() == 2)
        #expect(queue.cut() == 0)
        #expect(queue.count == 1 && queue.bytes == 1000)
        let taken = queue.takeFragment()
        let (_, fragment, isLast) = try #require(taken)
        #expect(fragment == 1 && isLast && queue.isEmpty)
        for _ in 0..<3 { queue.append(entry(size: 2000)) }
        #expect(queue.cut() == 3)
        #expect(queue.isEmpty && queue.bytes == 0)
    }

    @Test("The queue is empty after removeAll, and takes new frames")
    func removeAll() {
        var queue = VideoSendQueue()
        for _ in 0..<3 { queue.append(entry(size: 2000)) }
        queue.removeAll()
        #expect(queue.isEmpty && queue.bytes == 0 && queue.takeFragment() == nil)
        queue.append(entry(size: 10))
        #expect(queue.bytes == 10)
    }
}
