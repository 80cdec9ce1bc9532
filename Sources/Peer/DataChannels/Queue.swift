/// A first-in, first-out queue with constant cost at both ends: removal from the front advances an index and compacts
/// the storage now and then (amortised).
struct Queue<Element>: RandomAccessCollection, MutableCollection {
    /// Removed elements are nil, so that they are freed at once.
    private var items: [Element?] = []
    private var head = 0

    var startIndex: Int { 0 }
    var endIndex: Int { items.count - head }

    subscript(_ index: Int) -> Element {
        get {
            guard let element = items[head + index] else { preconditionFailure("an index before the queue's head") }
            return element
        }
        set { items[head + index] = newValue }
    }

    mutating func append(_ element: Element) { items.append(element) }

    mutating func popFirst() -> Element? {
        guard head < items.count else { return nil }
        let element = items[head]
        items[head] = nil
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: head <= 64)
            head = 0
        } else if head >= 64, head * 2 >= items.count {
            items.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func removeAll() {
        items = []
        head = 0
    }

    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        items = items[head...].filter { $0.map { !isUnwanted($0) } ?? false }
        head = 0
    }

    /// Empties the queue into an array.
    mutating func takeAll() -> [Element] {
        defer { removeAll() }
        return items[head...].compactMap { $0 }
    }
}
