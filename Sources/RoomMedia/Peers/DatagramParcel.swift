import Basics

/// Datagrams that came to one loop in a turn and are for peers of another: copied, in order, and handed over at once.
struct DatagramParcel: Sendable {
    private struct Entry: Sendable {
        var end: Int
        var flow: Flow
        var seat: Int
        var arrival: Instant
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }
    /// Datagrams in it.
    var count: Int { entries.count }
    /// What it holds of memory, near enough.
    var size: Int { bytes.count + entries.count * MemoryLayout<Entry>.stride }

    /// - Parameter seat: the number of the peer's seat on its loop.
    mutating func append(_ datagram: UnsafeRawBufferPointer, flow: Flow, seat: Int, at now: Instant) {
        bytes.append(contentsOf: datagram)
        entries.append(Entry(end: bytes.count, flow: flow, seat: seat, arrival: now))
    }

    /// Hands out each datagram, whose bytes may be changed in place.
    consuming func open(
        _ body: (_ datagram: UnsafeMutableRawBufferPointer, Flow, _ seat: Int, _ arrival: Instant) -> Void
    ) {
        let entries = self.entries
        bytes.withUnsafeMutableBytes { bytes in
            var start = 0
            for entry in entries {
                body(
                    UnsafeMutableRawBufferPointer(rebasing: bytes[start..<entry.end]), entry.flow, entry.seat,
                    entry.arrival)
                start = entry.end
            }
        }
    }
}
