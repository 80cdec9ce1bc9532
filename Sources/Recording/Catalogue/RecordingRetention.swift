import Basics
package import Foundation

/// Which recordings are removed, by their age and by the size of all together. A value.
package struct RecordingRetention: Sendable {
    /// Why a recording was removed. `request`: somebody asked for it.
    package enum Reason: String, Sendable, CaseIterable { case age, size, request }

    package struct Choice: Sendable, Equatable {
        /// What is to be removed, the oldest first.
        package var removed: [(id: String, reason: Reason)] = []
        /// How many stay only because they are not delivered.
        package var undelivered = 0
        /// The sizes of some recordings are still to be asked.
        package var isPartial = false

        package static func == (a: Choice, b: Choice) -> Bool {
            a.removed.elementsEqual(b.removed, by: ==) && a.undelivered == b.undelivered && a.isPartial == b.isPartial
        }
    }

    /// The age since their end at which recordings are removed; zero: none.
    package var keep: Duration
    /// The bytes of all complete recordings at which the oldest are removed; 0: none.
    package var maxBytes: Int
    /// Whether only delivered recordings may be removed.
    package var needsDelivery: Bool

    /// The sizes that are known already, with the state in which they were asked: the delivery may move files.
    private var sizes: [String: (state: RecordingDelivery.State?, bytes: Int)] = [:]
    private var sizesSince = Date.distantPast

    /// The most recordings that one step removes, and whose sizes it asks.
    static let mostRemoved = 100
    static let mostAsked = 1000
    /// Sizes are asked again after this, in seconds: files are moved by hand too.
    static let sizesLast = 3600.0

    package init(keep: Duration, maxBytes: Int, needsDelivery: Bool) {
        self.keep = keep
        self.maxBytes = maxBytes
        self.needsDelivery = needsDelivery
    }

    package var isOn: Bool { keep > .zero || maxBytes > 0 }

    /// Chooses among recordings.
    ///
    /// - Parameters:
    ///   - entries: the oldest first.
    ///   - isBusy: whether a recording still runs or is being closed.
    ///   - size: asks the disk for a recording's bytes.
    package mutating func choose(
        from entries: [RecordingEntry], at now: Date, isBusy: (String) -> Bool, size: (RecordingEntry) -> Int
    ) -> Choice {
        let complete = entries.filter { ($0.state == .finished || $0.state == .failed) && !isBusy($0.id) }
        var choice = Choice()
        var kept: [RecordingEntry] = []
        for entry in complete {
            let end = entry.startedAt.addingTimeInterval(entry.duration ?? 0)
            if keep > .zero, now.timeIntervalSince(end) >= keep.inSeconds {
                take(entry, .age, &choice)
            } else {
                kept.append(entry)
            }
        }
        if maxBytes > 0 { chooseBySize(complete, kept, at: now, size, &choice) }
        return choice
    }

    /// Adds a recording to the choice where it may be removed.
    @discardableResult
    private func take(_ entry: RecordingEntry, _ reason: Reason, _ choice: inout Choice) -> Bool {
        if needsDelivery, entry.delivery?.state != .delivered {
            choice.undelivered += 1
            return false
        }
        guard choice.removed.count < Self.mostRemoved else { return false }
        choice.removed.append((entry.id, reason))
        return true
    }

    private mutating func chooseBySize(
        _ complete: [RecordingEntry], _ kept: [RecordingEntry], at now: Date, _ size: (RecordingEntry) -> Int,
        _ choice: inout Choice
    ) {
        if abs(now.timeIntervalSince(sizesSince)) > Self.sizesLast { (sizes, sizesSince) = ([:], now) }
        var (total, asked) = (0, 0)
        for entry in complete {
            if let known = sizes[entry.id], known.state == entry.delivery?.state {
                total += known.bytes
                continue
            }
            guard asked < Self.mostAsked else {
                choice.isPartial = true
                return
            }
            asked += 1
            let bytes = size(entry)
            sizes[entry.id] = (entry.delivery?.state, bytes)
            total += bytes
        }
        if sizes.count > 2 * complete.count + Self.mostAsked {
            let present = Set(complete.map(\.id))
            sizes = sizes.filter { present.contains($0.key) }
        }
        for (id, _) in choice.removed { total -= sizes[id]?.bytes ?? 0 }
        // The newest one stays, however large it is.
        for entry in kept.dropLast() {
            if total <= maxBytes || choice.removed.count >= Self.mostRemoved { return }
            let bytes = sizes[entry.id]?.bytes ?? 0
            // Removing what has no files, since they were moved, gains nothing.
            if bytes > 0, take(entry, .size, &choice) { total -= bytes }
        }
    }
}
