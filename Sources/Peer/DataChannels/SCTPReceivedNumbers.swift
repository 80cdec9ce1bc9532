/// The received TSNs: all up to one, and ranges beyond it (RFC 9260 §6.2). The cost of each lookup is logarithmic in
/// the number of ranges.
struct SCTPReceivedNumbers {
    /// How far ahead of the first gap a chunk may be; gap blocks count in 16 bits.
    static let furthestAhead: UInt32 = 16_384
    /// The most ranges beyond the first gap. With 5 % loss a window of full chunks has 50, one of small messages some
    /// hundreds; a chunk that would begin another range is refused, and its sender retransmits it when the gaps before
    /// it are filled.
    static let maximumRanges = 1024
    /// The most gap blocks in one SACK: with the duplicates they fill a packet.
    static let maximumGapBlocks = 200
    /// The most duplicates that one SACK names.
    static let maximumDuplicates = 32

    private struct Block {
        var first: UInt32
        var last: UInt32
    }

    /// All up to this one were received or abandoned by their sender.
    private(set) var cumulative: UInt32
    private var blocks: [Block] = []
    private(set) var duplicates: [UInt32] = []

    init(cumulative: UInt32) {
        self.cumulative = cumulative
    }

    /// Whether anything beyond the first gap was received.
    var hasHoles: Bool { !blocks.isEmpty }

    func contains(_ tsn: UInt32) -> Bool {
        guard serialLess(cumulative, tsn) else { return true }
        let place = place(of: tsn)
        return place < blocks.count && !serialLess(tsn, blocks[place].first)
    }

    /// Whether a TSN that was not received is near enough, and does not begin too many ranges.
    func hasRoom(for tsn: UInt32) -> Bool {
        guard tsn &- cumulative < Self.furthestAhead else { return false }
        if tsn == cumulative &+ 1 || blocks.count < Self.maximumRanges { return true }
        let place = place(of: tsn)
        return place > 0 && blocks[place - 1].last &+ 1 == tsn
            || place < blocks.count && blocks[place].first == tsn &+ 1
    }

    /// Records a TSN that was not received before.
    mutating func insert(_ tsn: UInt32) {
        guard tsn != cumulative &+ 1 else { return advance(to: tsn) }
        let place = place(of: tsn)
        let joinsBefore = place > 0 && blocks[place - 1].last &+ 1 == tsn
        let joinsAfter = place < blocks.count && blocks[place].first == tsn &+ 1
        switch (joinsBefore, joinsAfter) {
        case (true, true):
            blocks[place - 1].last = blocks[place].last
            blocks.remove(at: place)
        case (true, false): blocks[place - 1].last = tsn
        case (false, true): blocks[place].first = tsn
        case (false, false): blocks.insert(Block(first: tsn, last: tsn), at: place)
        }
    }

    /// Counts everything up to `tsn`, which is beyond `cumulative`, as received.
    mutating func advance(to tsn: UInt32) {
        cumulative = tsn
        var passed = 0
        while passed < blocks.count, !serialLess(cumulative &+ 1, blocks[passed].first) {
            if serialLess(cumulative, blocks[passed].last) { cumulative = blocks[passed].last }
            passed += 1
        }
        if passed > 0 { blocks.removeFirst(passed) }
    }

    mutating func noteDuplicate(_ tsn: UInt32) {
        if duplicates.count < Self.maximumDuplicates { duplicates.append(tsn) }
    }

    /// Makes a SACK and clears the duplicates; gap blocks that do not fit are left for a later one.
    mutating func report(window: UInt32) -> SCTPSack {
        let gaps = blocks.prefix(Self.maximumGapBlocks).map { block in
            UInt16(truncatingIfNeeded: block.first &- cumulative)...UInt16(truncatingIfNeeded: block.last &- cumulative)
        }
        defer { duplicates = [] }
        return SCTPSack(cumulative: cumulative, window: window, gaps: gaps, duplicates: duplicates)
    }

    /// The index of the first block that ends at or after `tsn`.
    private func place(of tsn: UInt32) -> Int {
        var low = 0
        var high = blocks.count
        while low < high {
            let middle = (low + high) / 2
            if serialLess(blocks[middle].last, tsn) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
