import Basics
package import Conference

/// The key under which an endpoint keeps a seat. The seat may end before its key is known: its events come on another
/// thread, and the first ones before the join returns.
package final class EarlyEndGuard<Key: Sendable>: Sendable {
    private enum State {
        case unknown
        case known(Key)
        case ended(LeaveReason)
    }

    private let state = Guarded(State.unknown)

    package init() {}

    /// Notes the end of the seat. Returns its key; nil: `know` will return the reason.
    package func end(_ reason: LeaveReason) -> Key? {
        state.withLock { state in
            if case .known(let key) = state { return key }
            state = .ended(reason)
            return nil
        }
    }

    /// Sets the key. Returns the reason if the seat has ended already.
    package func know(_ key: Key) -> LeaveReason? {
        state.withLock { state in
            defer { state = .known(key) }
            if case .ended(let reason) = state { return reason }
            return nil
        }
    }
}
