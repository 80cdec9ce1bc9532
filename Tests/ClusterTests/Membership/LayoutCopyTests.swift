import Basics
import Foundation
import Testing

@testable import Cluster

@Suite struct LayoutCopyTests {
    private var copy = LayoutCopy()

    private func listing(_ layouts: [String: Int64], at revision: Int64) -> StoreListing {
        StoreListing(
            entries: layouts.map { StoreEntry(key: .layout($0.key), value: nil, revision: $0.value, lease: 0) },
            revision: revision)
    }

    private mutating func take(_ name: String, _ revision: Int64) -> LayoutCopy.Outcome {
        copy.take(name, .layout([1]), revision: revision)
    }

    @Test mutating func `only later news count`() {
        #expect(take("a", 5) == .use([1]) && take("a", 5) == .known && take("a", 4) == .known)
        #expect(!copy.remove("a", revision: 4) && copy.remove("a", revision: 6) && !copy.remove("a", revision: 6))
        #expect(take("a", 7) == .use([1]))
    }

    @Test mutating func `a listing says what is to be read, and what is gone`() {
        for name in ["a", "b", "c", "late"] { _ = take(name, name == "late" ? 30 : 5) }
        let comparison = copy.compare(listing(["a": 5, "b": 9, "d": 2], at: 20))
        #expect(comparison == .init(wanted: ["b", "d"], removed: ["c"]), "what came after the listing stays")
    }

    @Test mutating func `after a loss of the store's data lower revisions count`() {
        for name in ["a", "b"] { _ = take(name, 50) }
        copy.beginAnew()
        #expect(copy.compare(listing(["a": 3], at: 4)) == .init(wanted: ["a"], removed: ["b"]))
        #expect(take("a", 3) == .use([1]))
    }

    @Test mutating func `there is a limit`() {
        let all = Dictionary(uniqueKeysWithValues: (0..<LayoutCopy.most + 9).map { ("l\(100 + $0)", Int64(2)) })
        let comparison = copy.compare(listing(all, at: 3))
        #expect(comparison.wanted == Array(all.keys.sorted().prefix(LayoutCopy.most)) && comparison.excess == 9)
        for name in comparison.wanted { #expect(take(name, 2) == .use([1])) }
        guard case .refuse = take("more", 4) else { return #expect(Bool(false), "one too many") }
        #expect(!copy.hasPlace(for: "more") && copy.hasPlace(for: "l100"))
    }

    @Test mutating func `with more than the limit those in use stay, and the oldest of the others come`() {
        _ = take("z", 1)
        let late = Dictionary(
            uniqueKeysWithValues: (0..<LayoutCopy.most).map { ("l\(100 + $0)", Int64(10 - $0 / 200)) })
        let comparison = copy.compare(listing(late.merging(["z": 20]) { $1 }, at: 21))
        #expect(comparison.removed.isEmpty && comparison.excess == 1)
        #expect(comparison.wanted.contains("z") && comparison.wanted.contains("l300"))
        #expect(!comparison.wanted.contains("l299") && comparison.wanted.count == LayoutCopy.most)
    }

    @Test mutating func `rubbish is refused once`() {
        guard case .refuse = copy.take("a", nil, revision: 2) else { return #expect(Bool(false), "taken") }
        #expect(copy.take("a", nil, revision: 2) == .known)
        copy.refuse("b", revision: 7)
        #expect(copy.compare(listing(["a": 2, "b": 6], at: 7)).wanted.isEmpty)
    }

    @Test(arguments: [0, LayoutDocument.maxBytes + 1]) func `a value has a limit`(count: Int) {
        #expect(StoreValue(Data(count: count), of: .layout("a")) == nil)
        #expect(StoreValue(Data(count: 9), of: .layout("a")) == .layout([UInt8](repeating: 0, count: 9)))
    }
}
