import Basics

/// The deadlines of many elements: a binary heap in which each element has at most one, so that a turn's cost depends
/// on the due and changed deadlines, not on the number of waiting ones.
struct DeadlineQueue<Element: AnyObject> {
    private struct Entry {
        var deadline: Instant
        let element: Element
    }

    private var heap: [Entry] = []
    /// The index of each element in the heap.
    private var places: [ObjectIdentifier: Int] = [:]

    var count: Int { heap.count }
    /// The earliest of all deadlines.
    var next: Instant? { heap.first?.deadline }

    /// Sets the element's deadline; nil removes the element. O(log n).
    mutating func set(_ element: Element, _ deadline: Instant?) {
        let place = places[ObjectIdentifier(element)]
        switch (place, deadline) {
        case (let place?, let deadline?):
            let old = heap[place].deadline
            if deadline == old { return }
            heap[place].deadline = deadline
            if deadline < old { siftUp(place) } else { siftDown(place) }
        case (nil, let deadline?):
            heap.append(Entry(deadline: deadline, element: element))
            places[ObjectIdentifier(element)] = heap.count - 1
            siftUp(heap.count - 1)
        case (let place?, nil): remove(at: place)
        case (nil, nil): break
        }
    }

    /// Removes and returns the element with the earliest deadline; nil when no deadline has passed.
    mutating func takeDue(at now: Instant) -> Element? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        remove(at: 0)
        return first.element
    }

    private mutating func remove(at place: Int) {
        places[ObjectIdentifier(heap[place].element)] = nil
        let last = heap.removeLast()
        guard place < heap.count else { return }
        heap[place] = last
        places[ObjectIdentifier(last.element)] = place
        siftUp(place)
        siftDown(place)
    }

    private mutating func siftUp(_ start: Int) {
        var place = start
        while place > 0 {
            let parent = (place - 1) / 2
            guard heap[place].deadline < heap[parent].deadline else { return }
            swap(place, parent)
            place = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var place = start
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline {
                least = child
            }
            if least == place { return }
            swap(place, least)
            place = least
        }
    }

    private mutating func swap(_ a: Int, _ b: Int) {
        heap.swapAt(a, b)
        places[ObjectIdentifier(heap[a].element)] = a
        places[ObjectIdentifier(heap[b].element)] = b
    }
}
