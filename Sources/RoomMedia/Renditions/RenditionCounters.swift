package import Basics
package import Synchronization

/// What the metrics tell the renditions of a room apart by.
package struct RenditionLabel: Hashable, Sendable {
    /// The view of participants' own choices, which would be as many series as participants. A named view of this
    /// name is counted with them.
    package static let personal = "personal"

    /// The named view, or `personal`; with ` outgoing` the picture without those who are not recorded.
    package var view: String
    package var codec: VideoCodec
    /// In pixels.
    package var height: Int
    package var kind: String

    init(_ key: RenditionKey, _ rung: Ladder.Rung) {
        view = (key.view.choice == nil ? key.view.name : Self.personal) + (key.view.isOutgoing ? " outgoing" : "")
        codec = key.codec
        height = rung.height
        kind = key.kind.name
    }
}

/// The counts of the renditions of a room with one label, since the first of them.
package final class RenditionCounters: Sendable {
    package let frames = Atomic<Int>(0)
    package let keyframes = Atomic<Int>(0)
    package let bytes = Atomic<Int>(0)

    package init() {}

    func count(bytes count: Int, isKeyframe: Bool) {
        frames.wrappingAdd(1, ordering: .relaxed)
        if isKeyframe { keyframes.wrappingAdd(1, ordering: .relaxed) }
        bytes.wrappingAdd(count, ordering: .relaxed)
    }
}

/// The counters of a room's renditions by their labels, each as long as one of its renditions is there: a counter that
/// several renditions share does not shrink when one of them ends.
final class RenditionCounterTable: Sendable {
    private struct Entry: Sendable { weak var counters: RenditionCounters? }

    private let entries = Guarded<[RenditionLabel: Entry]>([:])

    subscript(label: RenditionLabel) -> RenditionCounters {
        entries.withLock { entries in
            if let known = entries[label]?.counters { return known }
            entries = entries.filter { $0.value.counters != nil }
            let made = RenditionCounters()
            entries[label] = Entry(counters: made)
            return made
        }
    }
}
