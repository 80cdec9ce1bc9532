import Basics

/// The missing packets, and when to request each one again (RFC 4585 §3.5; constants of libwebrtc's nack_requester).
struct NackList: Sendable {
    struct Entry: Sendable {
        var sequence: Int64
        var noticed: Instant
        var due: Instant
        /// The number of requests, each duplicate counted …
        var tries = 0
        /// … and without the duplicates.
        var asked = 0
        var isDuplicated = false
    }

    static let maximumEntries = 1000
    static let maximumTries = 10
    static let minimumRetry: Duration = .milliseconds(20)
    /// From this round trip on each request is sent twice: a lost one costs too much.
    static let longRoundTrip: Duration = .milliseconds(120)
    /// The same if this part of the first requests fails, until it is below `lossless`: at 10 % loss each way one in
    /// five fails, and with duplicated requests one in nine.
    static let lossy = 0.08
    static let lossless = 0.02
    /// The weight of the newest first request.
    static let weight = 1.0 / 32
    /// The time between a request and its duplicate, so that one burst of losses does not take both.
    static let minimumPause: Duration = .milliseconds(10)
    /// How long a gap waits before it is requested, since it may be mere reordering.
    static let minimumReorderDelay: Duration = .milliseconds(10)
    static let maximumReorderDelay: Duration = .milliseconds(60)
    static let surelyLost = 3

    /// In rising order.
    private(set) var entries: [Entry] = []
    /// Grows with the observed reordering, so that a path with jitter does not cause needless repair; decays over
    /// seconds.
    private(set) var reorderDelay = minimumReorderDelay
    private var lastReorder = Instant.distantPast
    /// The smoothed part of the first requests that did not bring the packet within a round trip.
    private var failing = 0.0
    private var isLossy = false

    /// Records a gap; false if it is too large to repair.
    mutating func note(_ range: Range<Int64>, at now: Instant) -> Bool {
        relax(at: now)
        guard range.count + entries.count <= Self.maximumEntries else { return false }
        // Without reordering, three missing in a row are lost, not late (RFC 5681 §3.2 uses the same count).
        let wait = range.count >= Self.surelyLost && reorderDelay == Self.minimumReorderDelay ? .zero : reorderDelay
        for sequence in range { entries.append(Entry(sequence: sequence, noticed: now, due: now + wait)) }
        return true
    }

    /// Removes a missing packet that arrived and returns its entry; nil if it was not missing.
    mutating func arrived(_ sequence: Int64, isRetransmission: Bool, roundTrip: Duration, at now: Instant) -> Entry? {
        guard let index = index(of: sequence) else { return nil }
        let entry = entries.remove(at: index)
        if isRetransmission, entry.tries > 0, entry.asked == 1 { judge(failed: false) }
        // It was reordered, not repaired: never requested, or sooner after the request than a repair can come.
        let wait = now - entry.noticed
        if !isRetransmission, entry.tries == 0 || wait < reorderDelay + roundTrip * 0.8 {
            let observed = min(wait + .milliseconds(2), Self.maximumReorderDelay)
            if observed >= reorderDelay {
                reorderDelay = observed
                lastReorder = now
            }
        }
        return entry
    }

    /// The packets to request now.
    mutating func due(at now: Instant, roundTrip: Duration) -> [Int64] {
        var result: [Int64] = []
        let pause = max(roundTrip * 0.2, Self.minimumPause)
        for index in entries.indices where entries[index].due <= now && entries[index].tries < Self.maximumTries {
            entries[index].tries += 1
            result.append(entries[index].sequence)
            if entries[index].isDuplicated {
                // A sender that received the first request ignores its duplicate.
                entries[index].isDuplicated = false
                entries[index].due = now + max(roundTrip - pause, Self.minimumRetry)
            } else {
                entries[index].asked += 1
                if entries[index].asked == 2 { judge(failed: true) }
                entries[index].isDuplicated = roundTrip >= Self.longRoundTrip || isLossy && roundTrip >= pause * 3
                entries[index].due = now + (entries[index].isDuplicated ? pause : max(roundTrip, Self.minimumRetry))
            }
        }
        return result
    }

    var nextDue: Instant? { entries.lazy.filter { $0.tries < Self.maximumTries }.map(\.due).min() }

    /// The first missing packet at or after `sequence`.
    func first(from sequence: Int64) -> Entry? {
        let place = place(of: sequence)
        return place < entries.count ? entries[place] : nil
    }

    /// Removes the entries before `sequence`; returns their number.
    @discardableResult
    mutating func removeBefore(_ sequence: Int64) -> Int {
        let count = entries.firstIndex { $0.sequence >= sequence } ?? entries.count
        if count > 0 { entries.removeFirst(count) }
        return count
    }

    @discardableResult
    mutating func removeOlder(than time: Instant) -> Int {
        let before = entries.count
        entries.removeAll { $0.noticed < time }
        return before - entries.count
    }

    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    private mutating func judge(failed: Bool) {
        failing += ((failed ? 1 : 0) - failing) * Self.weight
        isLossy = failing >= Self.lossy || isLossy && failing >= Self.lossless
    }

    private mutating func relax(at now: Instant) {
        guard reorderDelay > Self.minimumReorderDelay, now - lastReorder > .seconds(2) else { return }
        reorderDelay = max(Self.minimumReorderDelay, reorderDelay * 0.9)
        lastReorder = now - .seconds(1)
    }

    private func index(of sequence: Int64) -> Int? {
        let place = place(of: sequence)
        return place < entries.count && entries[place].sequence == sequence ? place : nil
    }

    /// The index of the first one at or after `sequence`.
    private func place(of sequence: Int64) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].sequence < sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
