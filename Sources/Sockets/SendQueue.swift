import Basics

/// The datagrams of one turn of the loop, back to back in one reused buffer, so that neighbours of equal size can be
/// sent in one write.
final class SendQueue {
    struct Entry {
        var offset: Int
        var length: Int
        var flow: Flow
    }

    private var buffer: UnsafeMutableRawBufferPointer
    private var used = 0
    private var entries: [Entry] = []

    init(capacity: Int = 1 << 20) {
        buffer = .allocate(byteCount: capacity, alignment: 16)
        entries.reserveCapacity(1024)
    }

    deinit { buffer.deallocate() }

    var count: Int { entries.count }
    var base: UnsafeMutableRawPointer { buffer.baseAddress.unsafelyUnwrapped }
    subscript(index: Int) -> Entry { entries[index] }

    /// Copies `bytes` into the queue. Returns false where there is no room, so that the queue must be sent first.
    func append(_ bytes: UnsafeRawBufferPointer, flow: Flow) -> Bool {
        guard let source = bytes.baseAddress, used + bytes.count <= buffer.count else { return false }
        (base + used).copyMemory(from: source, byteCount: bytes.count)
        entries.append(Entry(offset: used, length: bytes.count, flow: flow))
        used += bytes.count
        return true
    }

    func removeAll() {
        entries.removeAll(keepingCapacity: true)
        used = 0
    }

    /// How many entries from `start` on fit into one segmented write: they have the same flow and the first one's
    /// length; the last may be shorter.
    func run(from start: Int, limit: Int) -> Int {
        let first = entries[start]
        var count = 1
        while start + count < entries.count, count < limit {
            let entry = entries[start + count]
            let previous = entries[start + count - 1]
            guard previous.length == first.length, entry.length <= first.length, (count + 1) * first.length <= 65_000,
                entry.flow == first.flow
            else { break }
            count += 1
        }
        return count
    }
}
