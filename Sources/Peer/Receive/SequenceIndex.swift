/// The sequence numbers of packets with a certain property, in rising order: a search after each packet must not visit
/// everything that is held.
struct SequenceIndex: Sendable {
    private var sequences: [Int64] = []

    var last: Int64? { sequences.last }

    mutating func insert(_ sequence: Int64) {
        guard let last = sequences.last, last >= sequence else {
            sequences.append(sequence)
            return
        }
        let index = place(of: sequence)
        if sequences[index] != sequence { sequences.insert(sequence, at: index) }
    }

    /// The first one at or after `sequence`.
    func first(from sequence: Int64) -> Int64? {
        let index = place(of: sequence)
        return index < sequences.count ? sequences[index] : nil
    }

    mutating func removeBefore(_ sequence: Int64) {
        guard let first = sequences.first, first < sequence else { return }
        sequences.removeFirst(place(of: sequence))
    }

    mutating func removeAll() { sequences.removeAll(keepingCapacity: true) }

    /// The index of the first one at or after `sequence`.
    private func place(of sequence: Int64) -> Int {
        var low = 0
        var high = sequences.count
        while low < high {
            let middle = (low + high) / 2
            if sequences[middle] < sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
