import Basics
import Foundation
import Testing

@testable import Recording

@Suite("Retention of recordings")
struct RecordingRetentionTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// A recording of an hour that ended so many days ago.
    private func entry(
        _ id: String, days: Double, _ state: RecordingEntry.State = .finished, delivered: Bool? = nil
    ) -> RecordingEntry {
        var entry = RecordingEntry(
            id: id, room: "r", file: id + ".mp4", files: [id + ".mp4"], state: state,
            startedAt: Self.now - days * 86400 - 3600, duration: 3600, wasRecovered: false)
        if let delivered {
            var delivery = RecordingDelivery()
            delivery.begin(process: 0)
            if delivered { delivery.succeed(location: nil) } else { delivery.giveUp("no") }
            entry.delivery = delivery
        }
        return entry
    }

    private func choose(
        _ retention: RecordingRetention, _ entries: [RecordingEntry], busy: Set<String> = [], size: Int = 10
    ) -> (ids: [String], choice: RecordingRetention.Choice) {
        var retention = retention
        let choice = retention.choose(from: entries, at: Self.now, isBusy: { busy.contains($0) }) { _ in size }
        return (choice.removed.map { "\($0.id) \($0.reason)" }, choice)
    }

    @Test("recordings are removed by the age of their end, and those that run or are repaired are not")
    func age() {
        let rule = RecordingRetention(keep: .seconds(30 * 86400), maxBytes: 0, needsDelivery: false)
        let entries = [
            entry("running", days: 40, .recording), entry("paused", days: 40, .paused),
            entry("open", days: 40, .repairing), entry("closing", days: 40), entry("old", days: 30),
            entry("failed", days: 31, .failed), entry("young", days: 29.99), entry("future", days: -3),
        ]
        #expect(choose(rule, entries, busy: ["closing"]).ids == ["old age", "failed age"])
        #expect(!RecordingRetention(keep: .zero, maxBytes: 0, needsDelivery: false).isOn)
        #expect(choose(RecordingRetention(keep: .zero, maxBytes: 0, needsDelivery: false), entries).ids.isEmpty)
    }

    @Test("beyond the size the oldest go first, and the newest stays")
    func size() {
        let entries = (1...5).map { entry("\($0)", days: Double(10 - $0)) }
        func rule(_ bytes: Int) -> RecordingRetention {
            RecordingRetention(keep: .zero, maxBytes: bytes, needsDelivery: false)
        }
        #expect(choose(rule(50), entries).ids.isEmpty)
        #expect(choose(rule(49), entries).ids == ["1 size"])
        #expect(choose(rule(25), entries).ids == ["1 size", "2 size", "3 size"])
        #expect(choose(rule(1), entries).ids == ["1 size", "2 size", "3 size", "4 size"])
        #expect(choose(rule(1), entries, size: 0).ids.isEmpty, "what was moved takes no space")
        var both = rule(35)
        both.keep = .seconds(8 * 86400 + 3600)
        #expect(choose(both, entries).ids == ["1 age", "2 size"], "what goes by age makes space too")
    }

    @Test("with a hook only what is delivered goes; the rest is counted")
    func undelivered() {
        let entries = [
            entry("before", days: 50), entry("failed", days: 49, delivered: false),
            entry("done", days: 48, delivered: true), entry("new", days: 1, delivered: true),
        ]
        let rule = RecordingRetention(keep: .seconds(30 * 86400), maxBytes: 1, needsDelivery: true)
        let (ids, choice) = choose(rule, entries)
        #expect(ids == ["done age"] && choice.undelivered == 2)
        var pending = entry("p", days: 40)
        pending.delivery = RecordingDelivery()
        #expect(choose(rule, [pending, entries[3]]).ids.isEmpty)
        var free = rule
        free.needsDelivery = false
        #expect(choose(free, entries).ids == ["before age", "failed age", "done age"])
    }

    @Test("one step removes and asks a bounded number")
    func bounds() {
        let entries = (0..<3000).map { entry("\($0)", days: 40) }
        let aged = RecordingRetention(keep: .seconds(86400), maxBytes: 0, needsDelivery: false)
        #expect(choose(aged, entries).ids.count == RecordingRetention.mostRemoved)
        var sized = RecordingRetention(keep: .zero, maxBytes: 29_000, needsDelivery: false)
        var asked = 0
        for step in 0..<3 {
            let choice = sized.choose(from: entries, at: Self.now, isBusy: { _ in false }) { _ in
                asked += 1
                return 10
            }
            #expect(choice.isPartial == (step < 2))
            #expect(choice.removed.count == (step < 2 ? 0 : RecordingRetention.mostRemoved))
        }
        #expect(asked == 3000)
        _ = sized.choose(from: entries, at: Self.now, isBusy: { _ in false }) { _ in
            asked += 1
            return 10
        }
        #expect(asked == 3000, "sizes are known")
        _ = sized.choose(from: entries, at: Self.now + 4000, isBusy: { _ in false }) { _ in
            asked += 1
            return 10
        }
        #expect(asked == 4000, "and asked again after an hour")
    }
}
