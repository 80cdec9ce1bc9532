import Basics

/// What waits for one of several equal threads: the one that should have begun first is next.
struct ReadyQueue<Element> {
    /// What is due within this time of one another is equally urgent: the encoders of one tick get their pictures so
    /// close together.
    static var equallyUrgent: Duration { .milliseconds(1) }

    private var waiting: [(element: Element, due: Instant, home: Int?)] = []

    /// - Parameter home: the thread that ran it last: its processor's cache may still hold what it works on, which for
    ///   an encoder are some megabytes.
    mutating func add(_ element: Element, due: Instant, home: Int?) { waiting.append((element, due, home)) }

    /// What `thread` is to run: of what is equally urgent, its own rather than another's. Few wait at a time, so a look
    /// at each is cheap.
    ///
    /// - Parameter mayRun: what may not run now stays where it is.
    mutating func take(for thread: Int, where mayRun: (Element) -> Bool = { _ in true }) -> Element? {
        let ready = waiting.indices.filter { mayRun(waiting[$0].element) }
        guard let first = ready.min(by: { waiting[$0].due < waiting[$1].due }) else { return nil }
        let latest = waiting[first].due + Self.equallyUrgent
        let own = ready.first { waiting[$0].due <= latest && waiting[$0].home == thread }
        return waiting.remove(at: own ?? first).element
    }
}
