import Basics

/// The timestamp of an RTP packet: ticks of its stream's clock from a random start on, modulo 2³² (RFC 3550 §5.1).
///
/// It has no order. Extended to 64 bits, by `extended(near:)` or `TimestampUnwrapper`, it is an `Int64` with order and
/// arithmetic.
package struct RTPTimestamp: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible
{
    /// The timestamp as in the packet.
    package let rawValue: UInt32

    /// Makes a timestamp from the number in a packet.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Makes a timestamp from a literal, 0–4294967295.
    package init(integerLiteral value: UInt32) {
        rawValue = value
    }

    /// The lower 32 bits of an extended timestamp, in ticks.
    package init(wrapping extended: Int64) {
        rawValue = UInt32(truncatingIfNeeded: extended)
    }

    /// The extended timestamp, in ticks, that is nearest to `reference` and has these lower 32 bits.
    package func extended(near reference: Int64) -> Int64 {
        reference &+ Int64(Int32(truncatingIfNeeded: Int64(rawValue) &- reference))
    }

    /// The timestamp that is `ticks` later.
    package static func + (timestamp: RTPTimestamp, ticks: Int64) -> RTPTimestamp {
        RTPTimestamp(rawValue: timestamp.rawValue &+ UInt32(truncatingIfNeeded: ticks))
    }

    static func random(using generator: inout some RandomNumberGenerator) -> RTPTimestamp {
        RTPTimestamp(rawValue: .random(in: 0...UInt32.max, using: &generator))
    }

    /// Decimal.
    package var description: String { String(rawValue) }
}

extension ByteReader {
    mutating func readRTPTimestamp() throws(Truncated) -> RTPTimestamp { RTPTimestamp(rawValue: try readUInt32()) }
}
