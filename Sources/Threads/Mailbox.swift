import Basics

/// What waits for one thread, in the order in which it was posted. Any thread posts, and never blocks; one thread
/// takes.
///
/// How the thread learns that something came is its own affair: it waits here (`wait`), looks in at each tick of a
/// clock (`take`), or sleeps in the kernel and is woken by who posted into the empty box (the answer of `post`).
///
/// A message may be posted under a key: it then takes the place of the one of the same key that still waits. `Key` is
/// `Never` where none does.
public final class Mailbox<Key: Hashable & Sendable, Message: Sendable>: Sendable {
    private struct Contents {
        var messages: [Message] = []
        /// Where the message of each key waits.
        var places: [Key: Int] = [:]
        var peak = 0
        var dropped = 0
        var isStopped = false

        mutating func takeAll() -> [Message] {
            defer {
                messages.removeAll()
                places.removeAll(keepingCapacity: true)
            }
            return messages
        }
    }

    /// What was taken at once.
    public struct Batch: Sendable {
        public var messages: [Message]
        /// `stop` was called: nothing comes after these messages.
        public var isLast: Bool
    }

    private let contents = Condition(Contents())

    public init() {}

    /// Adds a message, unless the box was stopped.
    ///
    /// - Parameters:
    ///   - key: takes the place of what waits under this key.
    ///   - limit: where so many wait already the message is left out and counted (`dropped`). Nil: how many there can
    ///     be is bounded by who posts them.
    /// - Returns: whether the box was empty before, so that a thread which sleeps elsewhere must be woken.
    @discardableResult
    public func post(_ message: Message, replacing key: Key? = nil, upTo limit: Int? = nil) -> Bool {
        contents.withLock(waking: .one) { contents in
            if contents.isStopped { return false }
            if let key, let place = contents.places[key] {
                contents.messages[place] = message
                return false
            }
            if let limit, contents.messages.count >= limit {
                contents.dropped += 1
                return false
            }
            if let key { contents.places[key] = contents.messages.count }
            contents.messages.append(message)
            contents.peak = max(contents.peak, contents.messages.count)
            return contents.messages.count == 1
        }
    }

    /// Everything that waits; blocks until something does, the box is stopped, or `deadline` comes: then nil.
    public func wait(until deadline: Instant) -> Batch? {
        contents.wait(until: deadline) { contents in
            guard !contents.messages.isEmpty || contents.isStopped else { return nil }
            return Batch(messages: contents.takeAll(), isLast: contents.isStopped)
        }
    }

    /// Everything that waits now. Never blocks.
    public func take() -> Batch {
        contents.withLock { Batch(messages: $0.takeAll(), isLast: $0.isStopped) }
    }

    /// Takes no more messages. Those that wait are still taken, in a batch that says it is the last.
    public func stop() { contents.withLock(waking: .one) { $0.isStopped = true } }

    /// How the thread keeps up: a box without a limit must at least show when its thread falls behind.
    public var backlog: BacklogStatistics {
        contents.withLock { BacklogStatistics(waiting: $0.messages.count, peak: $0.peak) }
    }

    /// Messages that a limit left out.
    public var dropped: Int { contents.withLock { $0.dropped } }
}

/// How a thread keeps up with what is posted for it.
public struct BacklogStatistics: Hashable, Sendable {
    /// What waits now.
    public var waiting: Int
    /// The most that ever waited at once.
    public var peak: Int

    public init(waiting: Int, peak: Int) {
        self.waiting = waiting
        self.peak = peak
    }

    /// Of several threads, those of the one that keeps up worst.
    public static func worst(of all: [BacklogStatistics]) -> BacklogStatistics {
        BacklogStatistics(waiting: all.map(\.waiting).max() ?? 0, peak: all.map(\.peak).max() ?? 0)
    }
}
