/// Which packets of one source were there, and how far it has come (RFC 3711 §3.3.1, §3.3.2).
struct SRTPReplayWindow {
    /// Packets that a late one may lie behind the newest. The 64 that RFC 3711 asks for, and libsrtp's 128, are less than
    /// 100 ms of video.
    static let size: UInt64 = 1024

    /// The newest index: 48 bits, or 31 for RTCP; nil before the first packet.
    private(set) var highest: UInt64?
    /// A bit for each of the last `size` indices, at the index modulo `size`.
    private var seen = [UInt64](repeating: 0, count: Int(size) / 64)

    /// The index of a packet with this sequence number: the one nearest to the newest.
    ///
    /// The first packet begins at rollover counter 0, and nothing comes before that (RFC 3711 §3.3.1).
    func index(of sequence: UInt16) -> UInt64 { Self.index(of: sequence, near: highest) }

    static func index(of sequence: UInt16, near highest: UInt64?) -> UInt64 {
        guard let highest else { return UInt64(sequence) }
        let step = Int16(bitPattern: sequence &- UInt16(truncatingIfNeeded: highest))
        return UInt64(exactly: Int64(highest) + Int64(step)) ?? UInt64(sequence)
    }

    /// Whether a packet of this index may be taken: it was not there before and is not too old to tell.
    func allows(_ index: UInt64) -> Bool {
        guard let highest, index <= highest else { return true }
        return highest - index < Self.size && seen[word(index)] & bit(index) == 0
    }

    /// Remembers an authentic packet that was allowed.
    mutating func insert(_ index: UInt64) {
        if let highest, index > highest {
            if index - highest >= Self.size {
                for place in seen.indices { seen[place] = 0 }
            } else {
                for skipped in highest + 1..<index { seen[word(skipped)] &= ~bit(skipped) }
            }
        }
        highest = max(highest ?? 0, index)
        seen[word(index)] |= bit(index)
    }

    private func word(_ index: UInt64) -> Int { Int(index % Self.size) / 64 }
    private func bit(_ index: UInt64) -> UInt64 { 1 << (index % 64) }
}
