/// Work that waits for its thread, in order, and how much of it ever waited at once: a queue without a limit of its own must at least
/// show when its thread falls behind.
public struct Backlog<Item> {
    private var items: [Item] = []
    /// The most that ever waited.
    public private(set) var peak = 0

    public init() {}

    public var count: Int { items.count }
    public var isEmpty: Bool { items.isEmpty }

    public mutating func append(_ item: Item) {
        items.append(item)
        if items.count > peak { peak = items.count }
    }

    /// Everything that waits.
    public mutating func takeAll() -> [Item] {
        defer { items.removeAll() }
        return items
    }
}

extension Backlog: Sendable where Item: Sendable {}

/// How a thread keeps up.
public struct BacklogFigures: Hashable, Sendable {
    /// What waits now.
    public var waiting: Int
    /// The most that ever waited at once.
    public var peak: Int

    public init(waiting: Int, peak: Int) {
        self.waiting = waiting
        self.peak = peak
    }
}
