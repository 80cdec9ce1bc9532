import Basics

/// A limited number of places, each free again when the last reference to its `Place` ends.
package final class Places: Sendable {
    package final class Place: Sendable {
        private let places: Places
        fileprivate init(_ places: Places) { self.places = places }
        deinit { places.free.withLock { $0 += 1 } }
    }

    fileprivate let free: Guarded<Int>

    package init(_ count: Int) { free = Guarded(count) }

    /// Takes a place; nil if none is free.
    package func take() -> Place? {
        let isTaken = free.withLock { free in
            if free == 0 { return false }
            free -= 1
            return true
        }
        return isTaken ? Place(self) : nil
    }
}
