import Basics

/// Elements that wait for one of several equal threads, taken in the order of their due times.
struct ReadyQueue<Element> {
    /// Elements whose due times differ by no more than this are equally urgent: the encoders of one tick get their
    /// pictures so close together.
    static var equallyUrgent: Duration { .milliseconds(1) }

    private var waiting: [(element: Element, due: Instant, home: Int?)] = []

    /// - Parameter home: the thread that ran the element last. Its processor's cache may still hold the element's data,
    ///   some megabytes for an encoder.
    mutating func add(_ element: Element, due: Instant, home: Int?) { waiting.append((element, due, home)) }

    /// Takes the next element for `thread`; among equally urgent ones it prefers those that `thread` ran last. Few
    /// elements wait at a time, so the search over all of them is cheap.
    ///
    /// - Parameter mayRun: elements that may not run now stay in the queue.
    mutating func take(for thread: Int, where mayRun: (Element) -> Bool = { _ in true }) -> Element? {
        let ready = waiting.indices.filter { mayRun(waiting[$0].element) }
        guard let first = ready.min(by: { waiting[$0].due < waiting[$1].due }) else { return nil }
        let latest = waiting[first].due + Self.equallyUrgent
        let own = ready.first { waiting[$0].due <= latest && waiting[$0].home == thread }
        return waiting.remove(at: own ?? first).element
    }
}
