import Basics

/// A synchronization source: the number that all packets of one RTP stream carry (RFC 3550 §3).
public struct SSRC: RawRepresentable, Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral,
    CustomStringConvertible
{
    /// The number as in the packet.
    public let rawValue: UInt32

    /// Makes the SSRC with this number.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Makes the SSRC with this number.
    public init(_ value: UInt32) {
        rawValue = value
    }

    public init(integerLiteral value: UInt32) {
        rawValue = value
    }

    /// Parses an SSRC in SDP; nil if it is not a number of 32 bits.
    init?(_ text: Substring) {
        guard let value = UInt32(text) else { return nil }
        rawValue = value
    }

    static func random(in range: ClosedRange<UInt32>, using generator: inout some RandomNumberGenerator) -> SSRC {
        SSRC(rawValue: .random(in: range, using: &generator))
    }

    /// Decimal, as in SDP.
    public var description: String { String(rawValue) }

    public static func < (first: SSRC, second: SSRC) -> Bool { first.rawValue < second.rawValue }
}

extension ByteReader {
    mutating func readSSRC() throws(Truncated) -> SSRC { SSRC(rawValue: try readUInt32()) }
}
