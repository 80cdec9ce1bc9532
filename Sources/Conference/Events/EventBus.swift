package import Basics
import Foundation

/// The events of the server in one order, for any number of readers. The latest stay in memory, so that a reader that
/// was away for a while misses none.
///
/// The bus calls no reader: each asks for what comes after its position, when it was woken. So a reader that does not
/// read costs the others nothing, and the server only its position. Its lock is held for single steps; rooms publish
/// with their own lock held.
package final class EventBus: Sendable {
    /// The most events that stay in memory: half an hour of a busy server.
    package static let capacity = 10_000

    /// Identifies the server's run in the ids of events: another run counts from 1 again.
    package let epoch: String

    private struct Follower {
        var kinds: Set<ServerEvent.Kind>
        var wake: @Sendable () -> Void
    }

    private struct State {
        /// The event number `n` is at `(n - 1) % capacity`.
        var events: [Shared<ServerEvent>] = []
        var last = 0
        var followers: [Int: Follower] = [:]
        var nextFollower = 0
        var published: [ServerEvent.Kind: Int] = [:]
        var isClosed = false
    }

    private let state = Guarded(State())
    private let capacity: Int

    /// - Parameter capacity: smaller in tests.
    package init(capacity: Int = EventBus.capacity) {
        epoch = RandomToken.make(8)
        self.capacity = capacity
    }

    // MARK: - Writing

    /// Adds an event, unless it is of a kind that nobody asks for (`ServerEvent.Kind.isOnRequest`).
    func publish(_ happening: ServerEvent.Happening, room: String?, isPrivate: Bool = false) {
        let kind = happening.kind
        let followers = state.withLock { state -> [Follower] in
            if state.isClosed { return [] }
            let takers = state.followers.values.filter { $0.kinds.contains(kind) }
            if kind.isOnRequest, takers.isEmpty { return [] }
            state.last += 1
            state.published[kind, default: 0] += 1
            let event = Shared(
                ServerEvent(
                    sequence: state.last, time: Date(), room: room, isPrivate: isPrivate, happening: happening))
            if state.events.count < capacity {
                state.events.append(event)
            } else {
                state.events[(state.last - 1) % capacity] = event
            }
            return takers
        }
        for follower in followers { follower.wake() }
    }

    /// Ends the bus: readers get what they have not read yet, and then nothing more.
    func close() {
        let followers = state.withLock { state in
            state.isClosed = true
            return state.followers
        }
        for follower in followers.values { follower.wake() }
    }

    // MARK: - Reading

    /// The number of the latest event; 0: none yet.
    package var last: Int { state.withLock { $0.last } }

    /// What a reader gets at once.
    package struct Page: Sendable {
        package var events: [Shared<ServerEvent>]
        /// Events between the reader's position and the first of `events` are not in memory any more.
        package var isLate: Bool
        /// No event follows those of the page, nor will one.
        package var isLast: Bool
    }

    /// The events after a position, of all kinds, the oldest first.
    package func page(after position: Int, limit: Int) -> Page {
        state.withLock { state in
            // A position may be any number: clients send it.
            guard position < state.last else {
                return Page(events: [], isLate: position > state.last, isLast: state.isClosed)
            }
            let oldest = state.last - state.events.count + 1
            let first = max(position, oldest - 1) + 1
            let isLate = position < oldest - 1
            let end = min(state.last, first + limit - 1)
            return Page(
                events: (first...end).map { state.events[($0 - 1) % capacity] }, isLate: isLate,
                isLast: state.isClosed && end == state.last)
        }
    }

    /// A reader that is woken when events of its kinds have come. It ends with the last reference.
    package final class Subscription: Sendable {
        private let bus: EventBus
        private let number: Int

        fileprivate init(_ bus: EventBus, _ number: Int) {
            self.bus = bus
            self.number = number
        }

        deinit { bus.state.withLock { _ = $0.followers.removeValue(forKey: number) } }
    }

    /// - Parameter wake: called after each event of these kinds, on the thread of whoever published it; it must neither
    ///   wait nor take a room's lock.
    package func subscribe(to kinds: Set<ServerEvent.Kind>, wake: @escaping @Sendable () -> Void) -> Subscription {
        let number = state.withLock { state in
            state.nextFollower += 1
            state.followers[state.nextFollower] = Follower(kinds: kinds, wake: wake)
            return state.nextFollower
        }
        return Subscription(self, number)
    }

    package var samples: [MetricSample] {
        let published = state.withLock { $0.published }
        // Those that never came too: Prometheus sees no growth of a counter that begins at 1.
        return ServerEvent.Kind.allCases.map { kind in
            MetricSample(
                "tessera_events_total", "Events of the server.", .counter, Double(published[kind] ?? 0),
                labels: ["type": kind.rawValue])
        }
    }
}
