import Basics

/// A limited number of bytes that many clients share, each share free again when the last reference to it ends.
final class ByteBudget: Sendable {
    final class Share: Sendable {
        private let budget: ByteBudget
        private let bytes: Int

        fileprivate init(_ budget: ByteBudget, _ bytes: Int) {
            self.budget = budget
            self.bytes = bytes
        }

        deinit { budget.free.withLock { $0 += bytes } }
    }

    let limit: Int
    fileprivate let free: Guarded<Int>

    init(_ bytes: Int) {
        limit = bytes
        free = Guarded(bytes)
    }

    /// Takes a share of this many bytes; nil if fewer are free.
    func take(_ bytes: Int) -> Share? {
        let isTaken = free.withLock { free in
            guard bytes <= free else { return false }
            free -= bytes
            return true
        }
        return isTaken ? Share(self, bytes) : nil
    }

    /// Bytes of all shares.
    var used: Int { limit - free.withLock { $0 } }
}
