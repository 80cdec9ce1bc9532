/// An RTP packet that a sender wrote to the buffer, with what the estimate and the pacer record about it.
struct SentPacket: Sendable, Equatable {
    /// How the packet counts in transport-wide feedback.
    enum Numbering: Sendable, Equatable {
        /// It carries the next transport-wide number.
        case numbered
        /// It carries no number.
        case unnumbered
        /// It repeats the bytes of an earlier packet, with the number that they carry, if any: reports about it measure
        /// nothing.
        case repeated(SequenceNumber?)
    }

    /// Bytes of the RTP packet, without SRTP's tag.
    var length: Int
    var numbering: Numbering
}
