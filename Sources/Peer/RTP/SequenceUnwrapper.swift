/// Extends 16-bit sequence numbers to 64 bits by the shortest way from the last one.
struct SequenceUnwrapper: Sendable {
    private var last: Int64?

    init() {}

    /// Unwraps a number. The first one stays unchanged; later ones may lie before it, even below zero.
    mutating func unwrap(_ sequence: SequenceNumber) -> Int64 {
        let value = peek(sequence)
        last = value
        return value
    }

    /// The result of `unwrap`, without a change of state: for numbers that other packets name (NACK, RTX).
    func peek(_ sequence: SequenceNumber) -> Int64 {
        guard let last else { return Int64(sequence.rawValue) }
        return sequence.extended(near: last)
    }
}

/// Extends 32-bit RTP timestamps to 64 bits by the shortest way from the last one.
struct TimestampUnwrapper: Sendable {
    private var last: Int64?

    init() {}

    /// Unwraps a timestamp to the 64-bit value nearest to the one before.
    mutating func unwrap(_ timestamp: RTPTimestamp) -> Int64 {
        let value = peek(timestamp)
        last = value
        return value
    }

    /// The same without a change of state.
    func peek(_ timestamp: RTPTimestamp) -> Int64 {
        guard let last else { return Int64(timestamp.rawValue) }
        return timestamp.extended(near: last)
    }
}

/// Unwraps a stream's sequence numbers by the rules of RFC 3550 A.1: a jump is accepted only if the next packet
/// continues from it.
struct SequenceTracker: Sendable {
    enum Outcome: Sendable, Equatable {
        /// In order, reordered or a duplicate.
        case accepted(Int64)
        /// The sender started anew: everything buffered before is obsolete. The new numbers are above all earlier ones.
        case reset(Int64)
        /// A jump too large to accept at once: drop the packet and wait for its successor.
        case suspect
    }

    /// RFC 3550 A.1, MAX_DROPOUT.
    static let maximumDropout: Int64 = 3000
    /// RFC 3550 A.1 has 100; late retransmissions on the same stream come from further back (mediasoup uses 1500).
    static let maximumMisorder: Int64 = 1500

    private var highest: Int64?
    private var expectedAfterJump: SequenceNumber?

    init() {}

    mutating func accept(_ sequence: SequenceNumber) -> Outcome {
        guard let highest else {
            self.highest = Int64(sequence.rawValue)
            return .accepted(Int64(sequence.rawValue))
        }
        let delta = sequence.extended(near: highest) &- highest
        if delta < Self.maximumDropout, delta > -Self.maximumMisorder {
            expectedAfterJump = nil
            self.highest = max(highest, highest + delta)
            return .accepted(highest + delta)
        }
        guard sequence == expectedAfterJump else {
            expectedAfterJump = sequence + 1
            return .suspect
        }
        expectedAfterJump = nil
        let forward = Int64(sequence.steps(from: SequenceNumber(wrapping: highest)))
        self.highest = highest + forward
        return .reset(highest + forward)
    }
}
