import Basics
import Synchronization

/// Follows the rooms whose states are stored elsewhere. Called on any thread, with no room's lock held; must not wait.
package protocol RoomObserver: AnyObject, Sendable {
    /// The room is new, or `Conference.state(of:)` returns something else than before.
    func changed(_ room: String)
    func ended(_ room: String, _ reason: LeaveReason)
}

/// Tells an observer, if there is one, which rooms have changed.
final class RoomObserverSlot: Sendable {
    private let observer = Guarded<(any RoomObserver)?>(nil)
    private let hasObserver = Atomic<Bool>(false)

    func set(_ observer: (any RoomObserver)?) {
        self.observer.withLock { $0 = observer }
        hasObserver.store(observer != nil, ordering: .releasing)
    }

    /// Whether changes have to be found out at all.
    var isOn: Bool { hasObserver.load(ordering: .acquiring) }

    func changed(_ room: String) { observer.withLock { $0 }?.changed(room) }
    func ended(_ room: String, _ reason: LeaveReason) { observer.withLock { $0 }?.ended(room, reason) }
}
