import Basics
import WebServer

/// The tries of a PIN at one room. Whoever has many addresses tries 20 wrong PINs a minute, as does everybody else
/// together: beyond them every try, right or wrong, waits for its turn.
///
/// The turn goes to addresses from which somebody came in before, then to those that gave the fewest wrong PINs, then
/// to those that asked first. So one who knows the PIN comes next while others guess from thousands of addresses. The
/// guessers of an IPv6 site count together (/48, RFC 6177).
///
/// A value with the time as an argument. A try is `ask`ed for, looked after until its turn comes, and `end`ed.
struct PINQueue: Sendable {
    /// Whose allowance a try uses.
    enum Lane: Hashable, Sendable { case strangers, insiders }

    enum Turn: Hashable, Sendable {
        case now(Lane)
        /// Not before this time has passed.
        case wait(Duration)
        /// Others come first, or the wait was too long.
        case refuse
    }

    enum Outcome: Hashable, Sendable { case right, wrong, other }

    /// Wrong PINs at once, and a minute.
    static let wrongPerMinute = 20
    /// Tries that wait at most, and those of one site.
    static let places = 32
    static let placesPerSite = 4
    /// A WebSocket outside of rooms ends after 30 s.
    static let maximumWait = Duration.seconds(20)
    /// Addresses whose tries are remembered at most, and for how long.
    static let (memory, memoryTime) = (1024, Duration.seconds(3600))

    private struct Site {
        /// Wrong PINs, and tries that are under way.
        var wrong = 0
        /// Since when the site's oldest request for a turn is unanswered, kept over a refusal.
        var since: Instant?
        var last: Instant
    }

    private struct Waiter {
        var site: IPAddress
        var isInsider: Bool
        var since: Instant
    }

    private var strangers: TokenBucket
    private var insiders: TokenBucket
    private var sites: [IPAddress: Site] = [:]
    private var waiters: [Int: Waiter] = [:]
    /// By client, with the time of the last success.
    private var cameIn: [IPAddress: Instant] = [:]
    private var ids = 0
    private var lastUse: Instant
    /// Wrong PINs that nobody was told of, and when somebody was told last.
    private var unreported = 0
    private var told: Instant?
    private var hasWaited = false

    init(at now: Instant) {
        let rate = Double(Self.wrongPerMinute) / 60
        strangers = TokenBucket(rate: rate, size: Double(Self.wrongPerMinute), at: now)
        insiders = TokenBucket(rate: rate, size: Double(Self.wrongPerMinute), at: now)
        lastUse = now
    }

    /// The number of tries that wait.
    var count: Int { waiters.count }

    /// Whether a new queue would be equal but for what it remembers of long ago.
    func isIdle(at now: Instant) -> Bool {
        waiters.isEmpty && now - lastUse > Self.memoryTime && strangers.isFull(at: now) && insiders.isFull(at: now)
    }

    // MARK: - A try

    /// Asks for a turn. Returns the id of the try for `turn`; nil where others come first.
    mutating func ask(_ address: IPAddress, at now: Instant) -> Int? {
        lastUse = now
        let (site, isInsider) = (address.site, cameIn[address.clientPrefix] != nil)
        forget(at: now)
        sites[site, default: Site(last: now)].last = now
        if sites[site]?.since == nil { sites[site]?.since = now }
        guard waiters.values.count(where: { $0.site == site }) < Self.placesPerSite else { return nil }
        ids += 1
        waiters[ids] = Waiter(site: site, isInsider: isInsider, since: now)
        if waiters.count > Self.places, let last = waiters.keys.max(by: comes) { waiters[last] = nil }
        return waiters[ids] == nil ? nil : ids
    }

    /// Whether a try may begin now. A try with `.now` is not looked after any more: `end` is next.
    mutating func turn(of id: Int, at now: Instant) -> Turn {
        guard let waiter = waiters[id] else { return .refuse }
        if waiter.isInsider, insiders.take(at: now) { return begin(id, waiter, .insiders) }
        if waiters.keys.min(by: comes) == id, strangers.take(at: now) { return begin(id, waiter, .strangers) }
        if strangers.wait(at: now) > .zero { hasWaited = true }
        if now - waiter.since >= Self.maximumWait {
            waiters[id] = nil
            return .refuse
        }
        let next = min(strangers.wait(at: now), waiter.isInsider ? insiders.wait(at: now) : .seconds(1))
        return .wait(max(.milliseconds(50), min(next, .seconds(1))))
    }

    private mutating func begin(_ id: Int, _ waiter: Waiter, _ lane: Lane) -> Turn {
        waiters[id] = nil
        // A try counts until it proves right, so that a site has no second turn beside its first.
        sites[waiter.site]?.wrong += 1
        sites[waiter.site]?.since = nil
        return .now(lane)
    }

    /// The client has gone before its turn.
    mutating func leave(_ id: Int) { waiters[id] = nil }

    /// Ends a try that has had its turn.
    mutating func end(_ address: IPAddress, _ lane: Lane, _ outcome: Outcome, at now: Instant) {
        lastUse = now
        if outcome == .wrong {
            unreported += 1
            return
        }
        if let wrong = sites[address.site]?.wrong { sites[address.site]?.wrong = max(0, wrong - 1) }
        switch lane {
        case .strangers: strangers.spend(-1, at: now)
        case .insiders: insiders.spend(-1, at: now)
        }
        if outcome == .right { welcome(address, at: now) }
    }

    /// Notes that somebody came in from an address.
    mutating func welcome(_ address: IPAddress, at now: Instant) {
        lastUse = now
        cameIn[address.clientPrefix] = now
        if cameIn.count > Self.memory, let oldest = cameIn.min(by: { $0.value < $1.value }) { cameIn[oldest.key] = nil }
    }

    /// The number of wrong PINs since the last report, where tries had to wait; at most every five minutes.
    mutating func report(at now: Instant) -> Int? {
        guard hasWaited, unreported > 0, told.map({ now - $0 >= .seconds(300) }) ?? true else { return nil }
        defer { (unreported, told, hasWaited) = (0, now, false) }
        return unreported
    }

    // MARK: - Order

    /// Whether the first comes before the second.
    private func comes(_ first: Int, _ second: Int) -> Bool { rank(first) < rank(second) }

    private func rank(_ id: Int) -> (Int, Int, Instant, Int) {
        guard let waiter = waiters[id] else { return (2, 0, .distantPast, id) }
        let site = sites[waiter.site]
        return (waiter.isInsider ? 0 : 1, site?.wrong ?? 0, site?.since ?? waiter.since, id)
    }

    /// Makes room for one more site: old ones go, then those that gave the fewest wrong PINs, whose turn comes soon
    /// anyway.
    private mutating func forget(at now: Instant) {
        guard sites.count >= Self.memory else { return }
        sites = sites.filter { now - $0.value.last < Self.memoryTime }
        guard sites.count >= Self.memory else { return }
        let waiting = Set(waiters.values.map(\.site))
        let idle = sites.filter { !waiting.contains($0.key) }
            .sorted { ($0.value.wrong, $0.value.last) < ($1.value.wrong, $1.value.last) }
        for (site, _) in idle.prefix(Self.memory / 4) { sites[site] = nil }
    }
}
