public import Basics

/// Messages for one thread, in the order in which they were posted. Any thread posts, and never blocks; one thread
/// takes them.
///
/// The receiving thread blocks in `wait`, polls with `take` at each tick of a clock, or sleeps in the kernel; in the
/// last case the thread that posts into an empty mailbox must wake it (the result of `post`).
///
/// A message with a key replaces the waiting message of the same key, at its place. `Key` is `Never` where no message
/// has a key.
public final class Mailbox<Key: Hashable & Sendable, Message: Sendable>: Sendable {
    private struct Contents {
        var messages: [Message] = []
        /// The index in `messages` of the message of each key.
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

    /// The messages that were taken together.
    public struct Batch: Sendable {
        public var messages: [Message]
        /// Whether `stop` was called, so that no message follows this batch.
        public var isLast: Bool
    }

    private let contents = Condition(Contents())

    public init() {}

    /// Adds a message, unless the mailbox was stopped.
    ///
    /// - Parameters:
    ///   - key: the message replaces the waiting message of this key.
    ///   - limit: where so many messages wait already, this one is dropped and counted (`dropped`). Nil where the
    ///     posting code bounds their number.
    /// - Returns: whether the mailbox was empty before, so that a thread which sleeps elsewhere must be woken.
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

    /// Takes all waiting messages. Blocks until there is one or the mailbox is stopped; returns nil at `deadline`.
    public func wait(until deadline: Instant) -> Batch? {
        contents.wait(until: deadline) { contents in
            guard !contents.messages.isEmpty || contents.isStopped else { return nil }
            return Batch(messages: contents.takeAll(), isLast: contents.isStopped)
        }
    }

    /// Takes all messages that wait now. Never blocks.
    public func take() -> Batch {
        contents.withLock { Batch(messages: $0.takeAll(), isLast: $0.isStopped) }
    }

    /// Refuses further messages. The waiting messages are still delivered, in a batch with `isLast` set.
    public func stop() { contents.withLock(waking: .one) { $0.isStopped = true } }

    /// The backlog: a mailbox without a limit must at least show when its thread falls behind.
    public var backlog: BacklogStatistics {
        contents.withLock { BacklogStatistics(waiting: $0.messages.count, peak: $0.peak) }
    }

    /// Messages that were dropped because of a limit.
    public var dropped: Int { contents.withLock { $0.dropped } }
}

/// How well a thread keeps up with the messages that are posted to it.
public struct BacklogStatistics: Hashable, Sendable {
    /// Messages that wait now.
    public var waiting: Int
    /// The most messages that ever waited at once.
    public var peak: Int

    public init(waiting: Int, peak: Int) {
        self.waiting = waiting
        self.peak = peak
    }

    /// The largest values of several threads.
    public static func worst(of all: [BacklogStatistics]) -> BacklogStatistics {
        BacklogStatistics(waiting: all.map(\.waiting).max() ?? 0, peak: all.map(\.peak).max() ?? 0)
    }
}
