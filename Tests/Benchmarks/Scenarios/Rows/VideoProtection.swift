/// What goes along with a video stream so that a lost packet can be made again without being asked for: XOR packets
/// (RFC 8627 §6.3), each of which stands in for one of the packets that it covers.
public enum VideoProtection: Sendable, Hashable {
    case none
    /// One XOR packet for each so many in a row (§1.1.1), wherever frames end: the overhead is exact, the last of a
    /// small frame waits.
    case rows(Int)
    /// Each frame by itself: at least one XOR packet for each so many of its packets; neighbours are covered by
    /// different ones.
    case frames(Int)
    /// One XOR packet for each column of a block that is sent row by row (§1.1.2): a burst as long as a row costs each
    /// column one packet.
    case columns(Int, rows: Int)
    /// The same, with one for each row too (§1.1.3).
    case matrix(columns: Int, rows: Int)

    /// Of the media; nil where it depends on the frames' sizes.
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

/// Decides, packet by packet, what the XOR packets of a stream cover.
struct ParityWriter {
    let protection: VideoProtection
    /// Of the frame, row or block that is being sent.
    private var held: [Int] = []

    init(_ protection: VideoProtection) { self.protection = protection }

    /// A media packet leaves; answers what each XOR packet covers that leaves behind it.
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

/// Makes missing packets out of those that came.
struct ParityReader {
    /// The XOR packets that came and may still be of use, by what they cover.
    private var covering: [Int: [[Int]]] = [:]
    private(set) var has: Set<Int> = []

    /// A media packet came, or was sent again; answers all that is there now and was not before, it among them.
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

    /// An XOR packet came; answers what is there now and was not before.
    mutating func insert(covering group: [Int]) -> [Int] {
        for sequence in group where !has.contains(sequence) { covering[sequence, default: []].append(group) }
        guard let made = missing(of: group) else { return [] }
        return insert(made)
    }

    private mutating func solve(_ group: [Int]) -> [Int] {
        guard let made = missing(of: group), has.insert(made).inserted else { return [] }
        return [made]
    }

    /// The one packet of the group that is not there.
    private func missing(of group: [Int]) -> Int? {
        let missing = group.filter { !has.contains($0) }
        return missing.count == 1 ? missing[0] : nil
    }
}
