package import Basics

/// The recordings that wait for their delivery, one of which is delivered at a time. A value; times are those of the
/// monotonic clock.
package struct DeliveryQueue: Sendable {
    /// The recordings with the time of their next run; those of one time in the order in which they came.
    private var waiting: [(id: String, due: Instant)] = []
    /// The one that is being delivered.
    package private(set) var running: String?

    package init() {}

    /// How many are not delivered yet.
    package var count: Int { waiting.count + (running == nil ? 0 : 1) }

    /// Adds a recording, or changes the time of its next run. While it is being delivered nothing happens.
    package mutating func add(_ id: String, due: Instant) {
        guard id != running else { return }
        waiting.removeAll { $0.id == id }
        waiting.insert((id, due), at: waiting.firstIndex { $0.due > due } ?? waiting.endIndex)
    }

    /// When `take` returns something; nil: not before another recording comes.
    package var nextDue: Instant? { running == nil ? waiting.first?.due : nil }

    /// Begins the delivery that is due; nil where there is none.
    package mutating func take(at now: Instant) -> String? {
        guard let due = nextDue, due <= now else { return nil }
        running = waiting.removeFirst().id
        return running
    }

    /// Ends the delivery that runs.
    ///
    /// - Parameter wait: until the next run; nil: it is over.
    package mutating func end(again wait: Duration?, at now: Instant) {
        guard let id = running else { return }
        running = nil
        if let wait { add(id, due: now + wait) }
    }
}
