import Synchronization

/// The memory of all streams' media together.
package final class HLSMemory: Sendable {
    /// Some 80 rooms at 1.5 Mbit/s. Beyond it streams keep half of their segments.
    package static let defaultInAll = 512 << 20

    private let limit: Int
    private let taken = Atomic<Int>(0)

    /// In bytes.
    package init(inAll limit: Int = defaultInAll) {
        self.limit = limit
    }

    /// Bytes that are kept now.
    package var byteCount: Int { taken.load(ordering: .relaxed) }

    /// Counts bytes more or fewer. Returns whether there are more than may be.
    func change(by bytes: Int) -> Bool { taken.wrappingAdd(bytes, ordering: .relaxed).newValue > limit }
}
