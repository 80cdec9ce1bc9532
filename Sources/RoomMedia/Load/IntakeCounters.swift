import Synchronization

/// Why a frame was not decoded, as the metrics label it.
package enum DecodeRefusal: String, Sendable, CaseIterable {
    /// The sender's pixels a second.
    case sender
    /// Those of all senders together.
    case server
    /// The size of the picture changes too often.
    case size
    /// The memory of large pictures, of all senders together.
    case memory
    /// What waits is older than any tile would show.
    case late
    /// Coded bytes that wait.
    case bytes
    /// The decoder refused or could not read it.
    case fault
}

/// What of all senders' media was decoded or left out on the way in, since the start.
package final class IntakeCounters: Sendable {
    private final class Count: Sendable { let value = Atomic<Int>(0) }
    private let refusals = DecodeRefusal.allCases.map { _ in Count() }
    package let decodedFrames = Atomic<Int>(0)
    /// Left out by a budget, and while a sender that went over one is left alone.
    package let skippedFrames = Atomic<Int>(0)
    package let droppedAudioPackets = Atomic<Int>(0)
    package let audioFailures = Atomic<Int>(0)
    /// Audio packets that were not decoded, since nobody would have heard them.
    package let restedAudioPackets = Atomic<Int>(0)

    func count(_ refusal: DecodeRefusal, _ frames: Int = 1) {
        guard let index = DecodeRefusal.allCases.firstIndex(of: refusal) else { return }
        refusals[index].value.wrappingAdd(frames, ordering: .relaxed)
    }

    package func frames(_ refusal: DecodeRefusal) -> Int {
        DecodeRefusal.allCases.firstIndex(of: refusal).map { refusals[$0].value.load(ordering: .relaxed) } ?? 0
    }
}
