/// A checked cursor over bytes from outside: a read past the end throws, and no read can trap.
///
/// All numbers are read in network byte order. The reader lives no longer than the bytes that it reads.
public struct ByteReader: ~Escapable {
    @usableFromInline let bytes: Span<UInt8>
    /// The index of the next byte.
    public private(set) var offset = 0

    /// Reads from the first byte on.
    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    /// How many bytes are left.
    public var remaining: Int { bytes.count - offset }

    /// Fewer bytes were left than the read needs.
    public struct Truncated: Error {
        /// The only value.
        public init() {}
    }

    /// The next byte.
    public mutating func readUInt8() throws(Truncated) -> UInt8 {
        guard remaining >= 1 else { throw Truncated() }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// The next two bytes, in network order.
    public mutating func readUInt16() throws(Truncated) -> UInt16 {
        guard remaining >= 2 else { throw Truncated() }
        defer { offset += 2 }
        return UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
    }

    /// The next three bytes, in network order.
    public mutating func readUInt24() throws(Truncated) -> UInt32 {
        guard remaining >= 3 else { throw Truncated() }
        defer { offset += 3 }
        return UInt32(bytes[offset]) << 16 | UInt32(bytes[offset + 1]) << 8 | UInt32(bytes[offset + 2])
    }

    /// The next four bytes, in network order.
    public mutating func readUInt32() throws(Truncated) -> UInt32 {
        guard remaining >= 4 else { throw Truncated() }
        let high = try readUInt16()
        return UInt32(high) << 16 | UInt32(try readUInt16())
    }

    /// The next eight bytes, in network order.
    public mutating func readUInt64() throws(Truncated) -> UInt64 {
        guard remaining >= 8 else { throw Truncated() }
        let high = try readUInt32()
        return UInt64(high) << 32 | UInt64(try readUInt32())
    }

    /// The next `count` bytes as an array of their own.
    public mutating func readBytes(_ count: Int) throws(Truncated) -> [UInt8] {
        let range = try take(count)
        return bytes.extracting(range).withUnsafeBufferPointer { Array($0) }
    }

    /// The next `count` bytes as a range of the span that is read, without a copy.
    public mutating func take(_ count: Int) throws(Truncated) -> Range<Int> {
        guard count >= 0, remaining >= count else { throw Truncated() }
        defer { offset += count }
        return offset..<offset + count
    }

    /// Skips the next `count` bytes.
    public mutating func skip(_ count: Int) throws(Truncated) {
        _ = try take(count)
    }
}

extension Array where Element == UInt8 {
    /// Appends in network byte order.
    @inlinable public mutating func append16(_ value: UInt16) {
        append(UInt8(truncatingIfNeeded: value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }
    /// Appends the lower three bytes, the highest first.
    @inlinable public mutating func append24(_ value: UInt32) {
        append(UInt8(truncatingIfNeeded: value >> 16))
        append16(UInt16(truncatingIfNeeded: value))
    }
    /// Appends four bytes, the highest first.
    @inlinable public mutating func append32(_ value: UInt32) {
        append16(UInt16(truncatingIfNeeded: value >> 16))
        append16(UInt16(truncatingIfNeeded: value))
    }
    /// Appends eight bytes, the highest first.
    @inlinable public mutating func append64(_ value: UInt64) {
        append32(UInt32(truncatingIfNeeded: value >> 32))
        append32(UInt32(truncatingIfNeeded: value))
    }
}
