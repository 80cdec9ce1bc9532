/// The codewords of a QR code: the text, and what corrects errors in it (ISO/IEC 18004 §7.4 and §7.5).
struct QRCodewords: Sendable {
    /// Versions 1 to 6 with error correction M: blocks, data codewords of each, error correction codewords of each (table 9).
    private static let versions = [(1, 16, 10), (1, 28, 16), (1, 44, 26), (2, 32, 18), (2, 43, 24), (4, 27, 16)]
    /// The mode and the length.
    private static let head = 2

    let version: Int
    /// In the order in which the code has them.
    let all: [UInt8]

    /// - Returns: nil for a text that is too long.
    init?(_ text: [UInt8]) {
        guard let index = Self.versions.firstIndex(where: { $0.0 * $0.1 >= text.count + Self.head }) else { return nil }
        version = index + 1
        let (blocks, length, correction) = Self.versions[index]
        let data = Self.data(text, count: blocks * length)
        let parts = (0..<blocks).map { Array(data[($0 * length)..<(($0 + 1) * length)]) }
        let corrections = parts.map { Self.correction(of: $0, count: correction) }
        // The first of each block, the second of each, and so on.
        all =
            (0..<length).flatMap { word in parts.map { $0[word] } }
            + (0..<correction).flatMap { word in corrections.map { $0[word] } }
    }

    /// Four bits of the mode (bytes: 0100), eight of the length, the text, four bits of its end, and padding.
    private static func data(_ text: [UInt8], count: Int) -> [UInt8] {
        let bytes = [UInt8(truncatingIfNeeded: text.count)] + text
        var words = [0x40 | bytes[0] >> 4]
        for index in bytes.indices {
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            words.append(bytes[index] << 4 | next >> 4)
        }
        while words.count < count { words.append((words.count - text.count) % 2 == 0 ? 0xEC : 0x11) }
        return words
    }

    // MARK: Reed-Solomon

    /// The rest of the data by the generator polynomial whose roots are 2⁰ to 2ⁿ⁻¹ (annex A).
    private static func correction(of data: [UInt8], count: Int) -> [UInt8] {
        // Without its leading 1, the highest power first.
        var generator = [UInt8](repeating: 0, count: count)
        generator[count - 1] = 1
        var root: UInt8 = 1
        for _ in 0..<count {
            for index in generator.indices {
                generator[index] = product(generator[index], root) ^ (index + 1 < count ? generator[index + 1] : 0)
            }
            root = product(root, 2)
        }
        var rest = [UInt8](repeating: 0, count: count)
        for byte in data {
            let factor = byte ^ rest.removeFirst()
            rest.append(0)
            for index in rest.indices { rest[index] ^= product(generator[index], factor) }
        }
        return rest
    }

    /// In GF(2⁸) by x⁸ + x⁴ + x³ + x² + 1.
    private static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
        var (sum, a) = (UInt8(0), a)
        for bit in 0..<8 {
            if b >> UInt8(bit) & 1 == 1 { sum ^= a }
            a = a << 1 ^ (a & 0x80 == 0 ? 0 : 0x1D)
        }
        return sum
    }
}
