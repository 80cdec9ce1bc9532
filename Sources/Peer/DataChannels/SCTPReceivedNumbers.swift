/// The TSNs that were received: all up to one, and ranges beyond it (RFC 9260 §6.2). Each question costs the logarithm
/// of the ranges.
struct SCTPReceivedNumbers {
    /// How far ahead of the first hole a chunk may be; gap blocks count in 16 bits.
    static let furthestAhead: UInt32 = 16_384
    /// Ranges beyond the first hole. With 5 % loss a window of full chunks has 50, one of small messages some hundreds;
    /// a chunk that would begin one more is refused, and its sender sends it again when the holes before it are mended.
    static let maximumRanges = 1024
    /// Gap blocks in one SACK: with the duplicates they fill a packet.
    static let maximumGapBlocks = 200
    /// Duplicates that one SACK names.
    static let maximumDuplicates = 32

    private struct Block {
        var first: UInt32
        var last: UInt32
    }

    /// All up to this one were received or given up by their sender.
    private(set) var cumulative: UInt32
    private var blocks: [Block] = []
    private(set) var duplicates: [UInt32] = []

    init(cumulative: UInt32) {
        self.cumulative = cumulative
    }

    /// Something beyond the first hole was received.
    var hasHoles: Bool { !blocks.isEmpty }

    func contains(_ tsn: UInt32) -> Bool {
        guard serialLess(cumulative, tsn) else { return true }
        let place = place(of: tsn)
        return place < blocks.count && !serialLess(tsn, blocks[place].first)
    }

    /// Whether a TSN that was not received is near enough, and does not tear the numbers into too many parts.
    func hasRoom(for tsn: UInt32) -> Bool {
        guard tsn &- cumulative < Self.furthestAhead else { return false }
        if tsn == cumulative &+ 1 || blocks.count < Self.maximumRanges { return true }
        let place = place(of: tsn)
        return place > 0 && blocks[place - 1].last &+ 1 == tsn
            || place < blocks.count && blocks[place].first == tsn &+ 1
    }

    /// Notes a TSN that was not received before.
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

    /// Everything up to `tsn`, which is beyond `cumulative`, counts as received.
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

    /// What a SACK says; what finds no room in it is told later. Forgets the duplicates.
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
