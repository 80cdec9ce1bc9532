import Basics

/// Copies of the datagrams that one loop read in a turn for the peers of another loop, in order, handed over in one
/// call.
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
    /// The number of datagrams.
    var count: Int { entries.count }
    /// The memory of the parcel in bytes, approximately.
    var size: Int { bytes.count + entries.count * MemoryLayout<Entry>.stride }

    /// - Parameter seat: the number of the peer's seat on its loop.
    mutating func append(_ datagram: UnsafeRawBufferPointer, flow: Flow, seat: Int, at now: Instant) {
        bytes.append(contentsOf: datagram)
        entries.append(Entry(end: bytes.count, flow: flow, seat: seat, arrival: now))
    }

    /// Passes each datagram to `body`, which may change its bytes in place.
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
