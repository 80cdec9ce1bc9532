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
    private let refusals = CaseCounts<DecodeRefusal>()
    private let forwardEnds = CaseCounts<ForwardingFault>()
    /// Frames that went on as they came, once for each rendition that has them.
    package let forwardedFrames = Atomic<Int>(0)
    package let decodedFrames = Atomic<Int>(0)
    /// Frames that a budget refused, and those that came during the pause after a refusal.
    package let skippedFrames = Atomic<Int>(0)
    package let droppedAudioPackets = Atomic<Int>(0)
    package let audioFailures = Atomic<Int>(0)
    /// Audio packets that were not decoded because they were inaudible.
    package let restedAudioPackets = Atomic<Int>(0)

    func count(_ refusal: DecodeRefusal, _ frames: Int = 1) { refusals.add(frames, to: refusal) }
    package func frames(_ refusal: DecodeRefusal) -> Int { refusals[refusal] }

    func count(_ fault: ForwardingFault) { forwardEnds.add(1, to: fault) }
    package func ends(_ fault: ForwardingFault) -> Int { forwardEnds[fault] }
}
