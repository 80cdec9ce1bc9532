/// A QR code (ISO/IEC 18004:2015) of a short text: byte mode, error correction M, versions 1 to 6.
///
/// Version 6 has 106 bytes: more than a server's address needs, and as many rows as a terminal of 25 lines shows.
struct QRCode: Equatable, Sendable {
    /// Modules on a side.
    private(set) var size: Int
    private var dark: [Bool]
    /// The modules that hold no data: patterns, and the places of the format.
    private var isFixed: [Bool]

    /// - Parameter mask: 0 to 7; nil chooses the one that readers see best (§7.8.3).
    /// - Returns: nil for a text that is too long.
    init?(_ text: String, mask: Int? = nil) {
        guard let words = QRCodewords(Array(text.utf8)) else { return nil }
        size = 17 + 4 * words.version
        dark = Array(repeating: false, count: size * size)
        isFixed = dark
        drawPatterns(version: words.version)
        place(words.all)
        let masked = (0..<8).filter { mask == nil || mask == $0 }.map { applying(mask: $0) }
        guard let best = masked.min(by: { $0.penalty < $1.penalty }) else { return nil }
        self = best
    }

    /// Whether the module is dark; light outside of the code.
    subscript(x: Int, y: Int) -> Bool {
        (0..<size).contains(x) && (0..<size).contains(y) && dark[y * size + x]
    }

    // MARK: Patterns

    private mutating func fix(_ x: Int, _ y: Int, _ isDark: Bool) {
        guard (0..<size).contains(x), (0..<size).contains(y) else { return }
        dark[y * size + x] = isDark
        isFixed[y * size + x] = true
    }

    private mutating func drawPatterns(version: Int) {
        for index in 0..<size {
            fix(6, index, index % 2 == 0)
            fix(index, 6, index % 2 == 0)
        }
        // Finder patterns with their separators: rings around a centre, by the larger of both distances.
        for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] {
            for dy in -4...4 {
                for dx in -4...4 { fix(x + dx, y + dy, ![2, 4].contains(max(abs(dx), abs(dy)))) }
            }
        }
        // Versions 2 to 6 have one alignment pattern.
        if version > 1 {
            for dy in -2...2 {
                for dx in -2...2 { fix(size - 7 + dx, size - 7 + dy, max(abs(dx), abs(dy)) != 1) }
            }
        }
        drawFormat(mask: 0)
    }

    /// The level of error correction and the mask, twice (§7.9.1).
    private mutating func drawFormat(mask: Int) {
        // M is 00. A BCH code by x¹⁰ + x⁸ + x⁵ + x⁴ + x² + x + 1, and a mask by which the bits are never all zero.
        var rest = mask << 10
        for bit in stride(from: 14, through: 10, by: -1) where rest >> bit & 1 == 1 { rest ^= 0x537 << (bit - 10) }
        let format = (mask << 10 | rest) ^ 0x5412
        for bit in 0..<15 {
            let isDark = format >> bit & 1 == 1
            // Around the pattern at the upper left, past the timing patterns.
            switch bit {
            case ..<6: fix(8, bit, isDark)
            case 6: fix(8, 7, isDark)
            case 7: fix(8, 8, isDark)
            case 8: fix(7, 8, isDark)
            default: fix(14 - bit, 8, isDark)
            }
            if bit < 8 { fix(size - 1 - bit, 8, isDark) } else { fix(8, size - 15 + bit, isDark) }
        }
        fix(8, size - 8, true)
    }

    // MARK: Data

    /// Upwards and downwards in columns of two from the right, around what is fixed (§7.7.3).
    private mutating func place(_ words: [UInt8]) {
        var bit = 0
        for right in stride(from: size - 1, through: 1, by: -2) {
            // The column of the timing pattern is left out.
            let column = right <= 6 ? right - 1 : right
            let isUpwards = (size - 1 - right) / 2 % 2 == 0
            for step in 0..<size {
                let y = isUpwards ? size - 1 - step : step
                for x in [column, column - 1] where !isFixed[y * size + x] {
                    // The last modules have no bit, and stay light.
                    guard bit < words.count * 8 else { continue }
                    dark[y * size + x] = words[bit / 8] >> (7 - bit % 8) & 1 == 1
                    bit += 1
                }
            }
        }
    }

    // MARK: Masks

    private func applying(mask: Int) -> QRCode {
        var masked = self
        for y in 0..<size {
            for x in 0..<size where !isFixed[y * size + x] && QRCode.inverts(mask, x, y) {
                masked.dark[y * size + x].toggle()
            }
        }
        masked.drawFormat(mask: mask)
        return masked
    }

    /// Table 10.
    private static func inverts(_ mask: Int, _ x: Int, _ y: Int) -> Bool {
        switch mask {
        case 0: (x + y) % 2 == 0
        case 1: y % 2 == 0
        case 2: x % 3 == 0
        case 3: (x + y) % 3 == 0
        case 4: (y / 2 + x / 3) % 2 == 0
        case 5: x * y % 2 + x * y % 3 == 0
        case 6: (x * y % 2 + x * y % 3) % 2 == 0
        default: ((x + y) % 2 + x * y % 3) % 2 == 0
        }
    }

    /// What makes the code hard to read (§7.8.3.1).
    var penalty: Int {
        let lines = (0..<size).flatMap { line in
            [(0..<size).map { self[$0, line] }, (0..<size).map { self[line, $0] }]
        }
        let runs = lines.reduce(0) { $0 + QRCode.penaltyOfRuns($1) + QRCode.penaltyOfFinders($1) }
        var blocks = 0
        for y in 1..<size {
            for x in 1..<size {
                let isDark = self[x, y]
                if self[x - 1, y] == isDark, self[x, y - 1] == isDark, self[x - 1, y - 1] == isDark { blocks += 3 }
            }
        }
        // Each 5 % away from half dark.
        let count = dark.count(where: { $0 })
        return runs + blocks + abs(count * 20 - dark.count * 10) / dark.count * 10
    }

    /// Runs of five or more.
    private static func penaltyOfRuns(_ line: [Bool]) -> Int {
        var (sum, length) = (0, 0)
        for index in line.indices {
            length = index > 0 && line[index] == line[index - 1] ? length + 1 : 1
            if length >= 5 { sum += length == 5 ? 3 : 1 }
        }
        return sum
    }

    /// What looks like a finder pattern, beside four light modules.
    private static func penaltyOfFinders(_ line: [Bool]) -> Int {
        let finder = [true, false, true, true, true, false, true]
        let light = Array(repeating: false, count: 4)
        var sum = 0
        for start in 0...(line.count - 11) {
            let part = Array(line[start..<(start + 11)])
            if part == finder + light || part == light + finder { sum += 40 }
        }
        return sum
    }
}
