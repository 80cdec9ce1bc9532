/// Reads the bits of a coded stream's headers. Total: a read past the end gives nil.
struct BitReader {
    private let bytes: [UInt8]
    private let end: Int
    /// In bits from the first of `bytes`.
    private(set) var position: Int

    /// - Parameter range: the bytes to read; clamped to those that there are.
    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        let range = range.clamped(to: 0..<bytes.count)
        position = range.lowerBound * 8
        end = range.upperBound * 8
    }

    mutating func bit() -> Int? {
        guard position < end else { return nil }
        defer { position += 1 }
        return Int(bytes[position / 8] >> UInt8(7 - position % 8) & 1)
    }

    /// Up to 32 bits, the first the highest.
    mutating func bits(_ count: Int) -> Int? {
        var value = 0
        for _ in 0..<count {
            guard let bit = bit() else { return nil }
            value = value << 1 | bit
        }
        return value
    }

    /// ue(v) of H.264 §9.1; nil above 2^32 − 2, which nothing in a header may have.
    mutating func unsigned() -> Int? {
        var zeros = 0
        while true {
            guard let bit = bit() else { return nil }
            if bit == 1 { break }
            zeros += 1
            if zeros > 31 { return nil }
        }
        guard let rest = bits(zeros) else { return nil }
        return (1 << zeros) - 1 + rest
    }

    /// se(v) of H.264 §9.1.1.
    mutating func signed() -> Int? {
        unsigned().map { $0 % 2 == 1 ? ($0 + 1) / 2 : -$0 / 2 }
    }
}
