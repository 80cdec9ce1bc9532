public import Basics

/// Damages valid bytes in ways that find faults in parsers. A seed determines the changes, so every crash can be
/// replayed.
public struct Mutator {
    /// Boundary values of counters, lengths and signs.
    static let edges: [UInt8] = [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 191, 192, 223, 254, 255]
    static let longest = 1 << 16

    public var random: SeededRandom

    public init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// Makes one to four changes of `bytes`, with parts of `others`.
    public mutating func mutate(_ bytes: [UInt8], with others: [[UInt8]] = []) -> [UInt8] {
        var result = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) { change(&result, others) }
        return result.count > Self.longest ? Array(result.prefix(Self.longest)) : result
    }

    private mutating func change(_ bytes: inout [UInt8], _ others: [[UInt8]]) {
        guard !bytes.isEmpty else {
            bytes = (0..<Int.random(in: 1...24, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            return
        }
        let index = Int.random(in: bytes.indices, using: &random)
        let edge = Self.edges[Int.random(in: Self.edges.indices, using: &random)]
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2, 3: bytes[index] = edge
        case 4: bytes[index] = .random(in: 0...255, using: &random)
        case 5: bytes.removeSubrange(index...)
        case 6: bytes.removeSubrange(index..<min(bytes.count, index + Int.random(in: 1...8, using: &random)))
        case 7:
            bytes.insert(contentsOf: [UInt8](repeating: edge, count: Int.random(in: 1...8, using: &random)), at: index)
        case 8:
            // A run of one value: the largest lengths and counters of 16 and 32 bits.
            for place in index..<min(bytes.count, index + (Bool.random(using: &random) ? 2 : 4)) { bytes[place] = edge }
        default:
            guard let other = others.randomElement(using: &random), !other.isEmpty else { return }
            let from = Int.random(in: other.indices, using: &random)
            bytes.replaceSubrange(index..<min(bytes.count, index + 16), with: other[from..<min(other.count, from + 64)])
        }
    }
}
