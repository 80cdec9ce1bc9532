/// The contents of an RTX packet (RFC 4588 §4): the original sequence number and the original payload.
struct RetransmittedPayload: Sendable, Equatable {
    static let headerSize = 2

    var originalSequence: SequenceNumber
    /// The range of the original payload in the RTX packet.
    var payloadRange: Range<Int>

    /// nil for an RTX packet without an original: browsers probe with such padding, which has no OSN.
    init?(header: RTPHeader, in bytes: Span<UInt8>) {
        let range = header.payloadRange
        guard range.count >= Self.headerSize, range.upperBound <= bytes.count else { return nil }
        originalSequence = SequenceNumber(
            rawValue: UInt16(bytes[range.lowerBound]) << 8 | UInt16(bytes[range.lowerBound + 1]))
        payloadRange = range.lowerBound + Self.headerSize..<range.upperBound
    }
}
