import Basics
import Testing

@testable import Peer

@Suite("Audio packets that wait") struct AudioPacketQueueTests {
    /// A packet of 20 ms.
    private func entry(_ timestamp: Int64, isCopy: Bool = false) throws -> AudioPacketQueue.Entry {
        let packet = ReceivedAudioPacket(
            payload: [0x78, 1, 2, 3], sequence: timestamp / 960, timestamp: timestamp, captureTime: .zero,
            arrival: .zero, isCopy: isCopy)
        return try #require(AudioPacketQueue.Entry(packet))
    }

    @Test("Packets wait in the order of their timestamps")
    func order() throws {
        var queue = AudioPacketQueue()
        for timestamp in [1920, 0, 960] as [Int64] {
            let isNew = queue.insert(try entry(timestamp))
            #expect(isNew)
        }
        #expect(queue.first?.packet.timestamp == 0)
        #expect(queue.first?.end == 960)
        #expect(queue.second?.packet.timestamp == 960)
        queue.removeFirst()
        #expect(queue.count == 2 && queue.first?.packet.timestamp == 960)
    }

    @Test(
        "A packet replaces its copy, and nothing else",
        arguments: [(false, false, false), (false, true, false), (true, true, false), (true, false, true)])
    func copies(isHeldCopy: Bool, isNewCopy: Bool, isTaken: Bool) throws {
        var queue = AudioPacketQueue()
        _ = queue.insert(try entry(960, isCopy: isHeldCopy))
        let wasTaken = queue.insert(try entry(960, isCopy: isNewCopy))
        #expect(wasTaken == isTaken)
        #expect(queue.count == 1 && queue.first?.packet.isCopy == (isHeldCopy && !isTaken))
    }

    @Test("A payload that is not Opus makes no entry")
    func malformed() {
        #expect(
            AudioPacketQueue.Entry(
                ReceivedAudioPacket(payload: [], sequence: 0, timestamp: 0, captureTime: .zero, arrival: .zero)) == nil)
    }
}
