import Basics

/// A limited number of places, each free again when the last reference to its `Permit` ends.
package final class ConcurrencyLimit: Sendable {
    package final class Permit: Sendable {
        private let places: ConcurrencyLimit
        fileprivate init(_ places: ConcurrencyLimit) { self.places = places }
        deinit { places.free.withLock { $0 += 1 } }
    }

    fileprivate let free: Guarded<Int>

    package init(_ count: Int) { free = Guarded(count) }

    /// Takes a place; nil if none is free.
    package func take() -> Permit? {
        let isTaken = free.withLock { free in
            if free == 0 { return false }
            free -= 1
            return true
        }
        return isTaken ? Permit(self) : nil
    }
}
