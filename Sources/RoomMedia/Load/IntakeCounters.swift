package import Synchronization

/// Why a frame was not decoded, as the metrics label it.
package enum DecodeRefusal: String, Sendable, CaseIterable {
    /// The sender exceeded its pixels a second.
    case sender
    /// All senders together exceeded theirs.
    case server
    /// The size of the picture changes too often.
    case size
    /// The decoders of large pictures of all senders together hold too much memory.
    case memory
    /// The waiting frames are older than any tile would show.
    case late
    /// Too many coded bytes wait.
    case bytes
    /// The decoder refused or could not read it.
    case fault
}

/// Counts of all senders' frames and packets that were decoded or left out, since the start.
package final class IntakeCounters: Sendable {
    private final class Count: Sendable { let value = Atomic<Int>(0) }
    private let refusals = DecodeRefusal.allCases.map { _ in Count() }
    private let forwardEnds = ForwardingFault.allCases.map { _ in Count() }
    /// Frames that went on as they came, once for each rendition that has them.
    package let forwardedFrames = Atomic<Int>(0)
    package let decodedFrames = Atomic<Int>(0)
    /// Frames that a budget refused, and those that came during the pause after a refusal.
    package let skippedFrames = Atomic<Int>(0)
    package let droppedAudioPackets = Atomic<Int>(0)
    package let audioFailures = Atomic<Int>(0)
    /// Audio packets that were not decoded because they were inaudible.
    package let restedAudioPackets = Atomic<Int>(0)

    func count(_ refusal: DecodeRefusal, _ frames: Int = 1) {
        guard let index = DecodeRefusal.allCases.firstIndex(of: refusal) else { return }
        refusals[index].value.wrappingAdd(frames, ordering: .relaxed)
    }

    func count(_ fault: ForwardingFault) {
        guard let index = ForwardingFault.allCases.firstIndex(of: fault) else { return }
        forwardEnds[index].value.wrappingAdd(1, ordering: .relaxed)
    }

    package func ends(_ fault: ForwardingFault) -> Int {
        ForwardingFault.allCases.firstIndex(of: fault).map { forwardEnds[$0].value.load(ordering: .relaxed) } ?? 0
    }

    package func frames(_ refusal: DecodeRefusal) -> Int {
        DecodeRefusal.allCases.firstIndex(of: refusal).map { refusals[$0].value.load(ordering: .relaxed) } ?? 0
    }
}
