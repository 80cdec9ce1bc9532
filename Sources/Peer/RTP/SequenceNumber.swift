import Basics

/// A sequence number of 16 bits, of an RTP packet (RFC 3550 §5.1) or of a packet in transport-wide feedback.
///
/// It is a number modulo 2¹⁶ and has no order: which of two comes first depends on their distance in the shorter
/// direction (RFC 1982 §3.2). Extended to 64 bits, by `extended(near:)` or `SequenceUnwrapper`, it is an `Int64` with
/// order and arithmetic.
package struct SequenceNumber: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral,
    CustomStringConvertible
{
    /// The number as in the packet.
    package let rawValue: UInt16

    /// Makes a sequence number from the number in a packet.
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Makes a sequence number from a literal, 0–65535.
    package init(integerLiteral value: UInt16) {
        rawValue = value
    }

    /// The lower 16 bits of an extended number.
    package init(wrapping extended: Int64) {
        rawValue = UInt16(truncatingIfNeeded: extended)
    }

    /// How far this number is after another one, in the shorter direction: −32768…32767.
    package func distance(from other: SequenceNumber) -> Int { Int(Int16(bitPattern: rawValue &- other.rawValue)) }

    /// The number of forward steps from another number to this one: 0…65535.
    package func steps(from other: SequenceNumber) -> Int { Int(rawValue &- other.rawValue) }

    /// Whether this number is before another one, in the shorter direction (RFC 1982 §3.2).
    package func isBefore(_ other: SequenceNumber) -> Bool { distance(from: other) < 0 }

    /// The extended number that is nearest to `reference` and has these lower 16 bits.
    package func extended(near reference: Int64) -> Int64 {
        reference &+ Int64(distance(from: SequenceNumber(wrapping: reference)))
    }

    /// The number that is `steps` later.
    package static func + (number: SequenceNumber, steps: Int) -> SequenceNumber {
        SequenceNumber(rawValue: number.rawValue &+ UInt16(truncatingIfNeeded: steps))
    }

    /// Advances by `steps`.
    package static func += (number: inout SequenceNumber, steps: Int) { number = number + steps }

    static func random(in range: Range<UInt16>, using generator: inout some RandomNumberGenerator) -> SequenceNumber {
        SequenceNumber(rawValue: .random(in: range, using: &generator))
    }

    /// Decimal.
    package var description: String { String(rawValue) }
}

extension ByteReader {
    mutating func readSequenceNumber() throws(Truncated) -> SequenceNumber {
        SequenceNumber(rawValue: try readUInt16())
    }
}
