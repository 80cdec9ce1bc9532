import Basics

/// The server's frames on their way out: one at a time with a gap between them.
///
/// The client takes what one read of its socket returns as one frame, so two frames must not arrive together. The
/// protocol needs few frames; replies to heartbeats that come faster than the gap allows are left out.
struct RawTCPPacer: Sendable {
    enum Kind: Sendable, Equatable { case welcome, offer, reply, last }

    struct Item: Sendable, Equatable {
        var kind: Kind
        var frame: [UInt8]
        /// The frame may leave from this time on; nil: not before `allow`.
        var due: Instant?
    }

    /// The least time between two frames: the client's reads follow each other faster by far.
    static let gap = Duration.milliseconds(60)
    /// The most waiting replies.
    static let maxReplies = 8

    /// The most urgent first.
    private var items: [Item] = []
    private var lastSent: Instant?

    var isEmpty: Bool { items.isEmpty }

    /// Adds a frame: a reply at the end, if not too many wait, any other one in front of the replies.
    mutating func add(_ item: Item) {
        let replies = items.firstIndex { $0.kind == .reply } ?? items.count
        if item.kind == .reply {
            if items.count - replies < Self.maxReplies { items.append(item) }
        } else {
            items.insert(item, at: replies)
        }
    }

    /// Sets when the frames of a kind may leave.
    mutating func allow(_ kind: Kind, from due: Instant) {
        for index in items.indices where items[index].kind == kind { items[index].due = due }
    }

    mutating func removeAll() { items = [] }

    /// Removes and returns the frame to send now, if there is one.
    mutating func next(at now: Instant) -> Item? {
        if let lastSent, now < lastSent + Self.gap { return nil }
        guard let index = items.firstIndex(where: { $0.due.map { $0 <= now } ?? false }) else { return nil }
        lastSent = now
        return items.remove(at: index)
    }

    /// When the next frame may leave; nil: none waits.
    var deadline: Instant? {
        guard let first = items.compactMap(\.due).min() else { return nil }
        return lastSent.map { max(first, $0 + Self.gap) } ?? first
    }
}
