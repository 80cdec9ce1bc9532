import Basics

/// Which layouts of the store this node has taken over, and at which revisions.
struct LayoutCopy: Sendable {
    /// What becomes of a layout in the store.
    enum Outcome: Hashable, Sendable {
        /// It is known already.
        case known
        case use([UInt8])
        /// Nobody can use it, and why. The one before it stays in use.
        case refuse(String)
    }

    struct Comparison: Hashable, Sendable {
        /// To be read.
        var wanted: [String] = []
        /// No longer in the store.
        var removed: [String] = []
        /// How many there are beyond `most`.
        var excess = 0
    }

    /// The most layouts that are used. The largest possible ones have 64 MiB together.
    static let most = 256

    private var revisions: [String: Int64] = [:]

    /// Whether there is place for a layout of this name.
    func hasPlace(for name: String) -> Bool { revisions[name] != nil || revisions.count < Self.most }

    /// Takes that the store has lost data: what is known of its revisions says nothing.
    mutating func beginAnew() { revisions = revisions.mapValues { _ in 0 } }

    /// Compares what is known with a listing of keys. Where it has more than `most`, those in use stay, and of the others
    /// the oldest find a place, as if each had been heard of when it was written.
    mutating func compare(_ listing: StoreListing) -> Comparison {
        var listed: [(name: String, revision: Int64)] = []
        for entry in listing.entries { if case .layout(let name) = entry.key { listed.append((name, entry.revision)) } }
        listed.sort { place($0) < place($1) }
        let used = listed.prefix(Self.most)
        var comparison = Comparison(excess: listed.count - used.count)
        let names = Set(used.map { $0.name })
        // What this node has written since the listing is not in it.
        comparison.removed = revisions.filter { !names.contains($0.key) && $0.value <= listing.revision }.keys.sorted()
        for name in comparison.removed { revisions[name] = nil }
        comparison.wanted = used.filter { $0.revision > revisions[$0.name] ?? 0 }.map { $0.name }.sorted()
        return comparison
    }

    private func place(_ listed: (name: String, revision: Int64)) -> (Int, Int64, String) {
        (revisions[listed.name] == nil ? 1 : 0, listed.revision, listed.name)
    }

    mutating func take(_ name: String, _ value: StoreValue?, revision: Int64) -> Outcome {
        guard revision > revisions[name] ?? 0 else { return .known }
        guard hasPlace(for: name) else { return .refuse("there are more than \(Self.most) layouts") }
        revisions[name] = revision
        guard case .layout(let bytes)? = value else {
            return .refuse("it is no layout of at most \(LayoutDocument.maxBytes >> 10) KiB")
        }
        return .use(bytes)
    }

    /// Takes that a layout cannot be read, and is not to be read again before it changes.
    mutating func refuse(_ name: String, revision: Int64) {
        if hasPlace(for: name), revision > revisions[name] ?? 0 { revisions[name] = revision }
    }

    /// Takes that a layout is not in the store at a revision. Returns whether it was known.
    mutating func remove(_ name: String, revision: Int64) -> Bool {
        guard let known = revisions[name], known <= revision else { return false }
        revisions[name] = nil
        return true
    }
}
