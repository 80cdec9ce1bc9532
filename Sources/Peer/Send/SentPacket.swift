/// An RTP packet that a sender wrote to the buffer, as the estimate of the path and the pacer are to note it.
struct SentPacket: Sendable, Equatable {
    /// Of whose numbers it is among those of transport-wide feedback.
    enum Numbering: Sendable, Equatable {
        /// It carries the next transport-wide number.
        case numbered
        /// It carries none.
        case unnumbered
        /// The very same bytes went out once more, with the number that they carry, if any: reports about it measure
        /// nothing.
        case again(SequenceNumber?)
    }

    /// Bytes of the RTP packet, without SRTP's tag.
    var length: Int
    var numbering: Numbering
}
