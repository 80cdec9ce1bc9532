/// XOR packets (RFC 8627 §6.3) that protect a video stream: from each, one lost packet of those that it covers can be
/// recovered without a retransmission.
public enum VideoProtection: Sendable, Hashable {
    case none
    /// One XOR packet for a number of consecutive packets (§1.1.1), regardless of frames: the overhead is exact, but
    /// the last packet of a small frame waits.
    case rows(Int)
    /// Each frame separately: at least one XOR packet for a number of its packets; adjacent packets are covered by
    /// different XOR packets.
    case frames(Int)
    /// One XOR packet for each column of a block that is sent row by row (§1.1.2): in a burst as long as a row each
    /// column loses one packet.
    case columns(Int, rows: Int)
    /// One XOR packet for each column and for each row (§1.1.3).
    case matrix(columns: Int, rows: Int)

    /// In parts of the media; nil where it depends on the frames' sizes.
    public var overhead: Double? {
        switch self {
        case .none: 0
        case .rows(let length): 1 / Double(length)
        case .frames: nil
        case .columns(_, let rows): 1 / Double(rows)
        case .matrix(let columns, let rows): 1 / Double(columns) + 1 / Double(rows)
        }
    }
}

/// Decides, packet by packet, which packets the XOR packets of a stream cover.
struct ParityWriter {
    let protection: VideoProtection
    /// The packets of the current frame, row or block.
    private var held: [Int] = []

    init(_ protection: VideoProtection) { self.protection = protection }

    /// Adds a sent media packet. Returns the packets that each XOR packet covers which follows it.
    mutating func sent(_ sequence: Int, endsFrame: Bool) -> [[Int]] {
        held.append(sequence)
        switch protection {
        case .none:
            held.removeAll(keepingCapacity: true)
            return []
        case .rows(let length):
            return held.count == length ? [taken()] : []
        case .frames(let length):
            guard endsFrame else { return [] }
            let frame = taken()
            let count = (frame.count + length - 1) / length
            return (0..<count).map { first in stride(from: first, to: frame.count, by: count).map { frame[$0] } }
        case .columns(let columns, let rows):
            return column(of: columns, rows)
        case .matrix(let columns, let rows):
            let row = held.count % columns == 0 ? [Array(held.suffix(columns))] : []
            return row + column(of: columns, rows)
        }
    }

    /// In the last row each packet ends a column.
    private mutating func column(of columns: Int, _ rows: Int) -> [[Int]] {
        guard held.count > columns * (rows - 1) else { return [] }
        let column = stride(from: (held.count - 1) % columns, to: held.count, by: columns).map { held[$0] }
        if held.count == columns * rows { held.removeAll(keepingCapacity: true) }
        return [column]
    }

    private mutating func taken() -> [Int] {
        defer { held = [] }
        return held
    }
}

/// Recovers missing packets from received ones.
struct ParityReader {
    /// The received XOR packets that may still be of use, by the packets that they cover.
    private var covering: [Int: [[Int]]] = [:]
    private(set) var has: Set<Int> = []

    /// Adds a received or retransmitted media packet. Returns all packets that became available, including this one.
    mutating func insert(_ sequence: Int) -> [Int] {
        guard has.insert(sequence).inserted else { return [] }
        var made = [sequence]
        var next = 0
        while next < made.count {
            for group in covering.removeValue(forKey: made[next]) ?? [] { made += solve(group) }
            next += 1
        }
        return made
    }

    /// Adds a received XOR packet. Returns the packets that became available.
    mutating func insert(covering group: [Int]) -> [Int] {
        for sequence in group where !has.contains(sequence) { covering[sequence, default: []].append(group) }
        guard let made = missing(of: group) else { return [] }
        return insert(made)
    }

    private mutating func solve(_ group: [Int]) -> [Int] {
        guard let made = missing(of: group), has.insert(made).inserted else { return [] }
        return [made]
    }

    /// The only missing packet of the group; nil where none or several are missing.
    private func missing(of group: [Int]) -> Int? {
        let missing = group.filter { !has.contains($0) }
        return missing.count == 1 ? missing[0] : nil
    }
}
