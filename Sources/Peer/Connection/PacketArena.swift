import Basics

/// Datagrams that wait to be sent, in order, in reused memory.
final class PacketArena {
    private static let chunkSize = 1 << 16

    private struct Entry {
        var chunk: Int
        var offset: Int
        var length: Int
        var flow: Flow
    }
    private var chunks: [UnsafeMutableRawBufferPointer] = []
    private var current = 0
    private var offset = 0
    private var entries: [Entry] = []

    deinit {
        for chunk in chunks { chunk.deallocate() }
    }

    var isEmpty: Bool { entries.isEmpty }

    /// Reserves room for one datagram; valid until the next call.
    func reserve(_ capacity: Int) -> UnsafeMutableRawBufferPointer {
        if chunks.isEmpty || offset + capacity > chunks[current].count {
            if !chunks.isEmpty { current += 1 }
            offset = 0
            if current >= chunks.count || chunks[current].count < capacity {
                chunks.insert(
                    .allocate(byteCount: max(Self.chunkSize, capacity), alignment: 16), at: min(current, chunks.count))
                current = min(current, chunks.count - 1)
            }
        }
        return UnsafeMutableRawBufferPointer(rebasing: chunks[current][offset..<offset + capacity])
    }

    /// Appends the first `length` bytes of the last reservation as a datagram.
    func commit(_ length: Int, flow: Flow) {
        entries.append(Entry(chunk: current, offset: offset, length: length, flow: flow))
        // The rounding keeps every datagram aligned for the ciphers.
        offset += (length + 15) & ~15
        offset = min(offset, chunks[current].count)
    }

    func append(_ bytes: [UInt8], flow: Flow) {
        guard !bytes.isEmpty else { return }
        let buffer = reserve(bytes.count)
        buffer.copyBytes(from: bytes)
        commit(bytes.count, flow: flow)
    }

    /// Passes every datagram to `send` in order and empties the arena.
    func flush(_ send: (UnsafeRawBufferPointer, Flow) -> Void) {
        for entry in entries {
            let chunk = UnsafeRawBufferPointer(chunks[entry.chunk])
            send(UnsafeRawBufferPointer(rebasing: chunk[entry.offset..<entry.offset + entry.length]), entry.flow)
        }
        entries.removeAll(keepingCapacity: true)
        current = 0
        offset = 0
    }
}
