/// Reads the bits of a coded stream's headers, the most significant bit of each byte first. A read past the end throws.
public struct BitReader: ~Escapable {
    private let bytes: Span<UInt8>
    /// The index of the next bit.
    public private(set) var position = 0

    /// Reads from the first bit on.
    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    /// The data ended too early, or a code has no valid value.
    public struct Malformed: Error {
        /// The only value.
        public init() {}
    }

    /// The next bit, 0 or 1.
    public mutating func bit() throws(Malformed) -> UInt32 {
        guard position >> 3 < bytes.count else { throw Malformed() }
        defer { position += 1 }
        return UInt32(bytes[position >> 3] >> (7 - UInt8(position & 7)) & 1)
    }

    /// The next `count` bits, at most 32, the most significant first.
    public mutating func bits(_ count: Int) throws(Malformed) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<min(count, 32) { value = value << 1 | (try bit()) }
        return value
    }

    /// Skips the next `count` bits.
    public mutating func skip(_ count: Int) throws(Malformed) {
        guard count >= 0, position + count <= bytes.count * 8 else { throw Malformed() }
        position += count
    }

    /// ue(v) of ITU-T H.264 §9.1; at most 31 leading zeros.
    public mutating func unsigned() throws(Malformed) -> UInt32 {
        var zeros = 0
        while try bit() == 0 {
            zeros += 1
            guard zeros < 32 else { throw Malformed() }
        }
        return (1 << UInt32(zeros)) - 1 + (try bits(zeros))
    }

    /// se(v) of ITU-T H.264 §9.1.1.
    public mutating func signed() throws(Malformed) -> Int32 {
        let value = try unsigned()
        let half = Int32(truncatingIfNeeded: (value >> 1) &+ (value & 1))
        return value & 1 == 1 ? half : 0 &- half
    }
}
