/// A cursor over the bytes of one input that never fails: behind the end all values are zero.
///
/// Bodies that need more than one buffer of bytes read a script from it: the next operation, and its numbers.
public struct FuzzInput {
    public let bytes: [UInt8]
    private var offset = 0

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public var isEmpty: Bool { offset >= bytes.count }

    public mutating func byte() -> UInt8 {
        guard offset < bytes.count else { return 0 }
        defer { offset += 1 }
        return bytes[offset]
    }

    public mutating func number16() -> UInt16 { UInt16(byte()) << 8 | UInt16(byte()) }
    public mutating func number32() -> UInt32 { UInt32(number16()) << 16 | UInt32(number16()) }

    /// 0…`count` − 1; `count` is at most 256.
    public mutating func below(_ count: Int) -> Int { Int(byte()) % max(count, 1) }

    public mutating func pick<T>(_ list: [T]) -> T { list[below(list.count)] }

    /// A number of repetitions: usually small, so that a fuzzer tries many inputs; one value in sixteen reaches up to
    /// `most`.
    public mutating func repetitions(upTo most: Int) -> Int {
        let first = Int(byte())
        return first < 240 ? min(first % 16 + 1, most) : max(most * (first - 239) / 16, 1)
    }

    public mutating func bytes(_ count: Int) -> [UInt8] {
        let end = min(bytes.count, offset + max(count, 0))
        defer { offset = end }
        return Array(bytes[min(offset, end)..<end])
    }

    /// Bytes with a length before them: one byte, or with 255 two more.
    public mutating func chunk() -> [UInt8] {
        let length = Int(byte())
        return bytes(length == 255 ? Int(number16()) : length)
    }

    public mutating func rest() -> [UInt8] { bytes(bytes.count) }
}

/// Writes the format that `FuzzInput` reads, to make seeds.
public struct FuzzScript {
    public private(set) var bytes: [UInt8] = []

    public init() {}

    public mutating func byte(_ value: Int) { bytes.append(UInt8(truncatingIfNeeded: value)) }

    public mutating func number16(_ value: Int) {
        byte(value >> 8)
        byte(value)
    }

    public mutating func number32(_ value: UInt32) {
        number16(Int(value >> 16))
        number16(Int(value & 0xFFFF))
    }

    public mutating func raw(_ content: some Sequence<UInt8>) { bytes += content }

    public mutating func chunk(_ content: [UInt8]) {
        if content.count < 255 {
            byte(content.count)
        } else {
            byte(255)
            number16(content.count)
        }
        bytes += content
    }
}
