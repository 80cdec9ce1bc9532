/// Who claims a place of a `FairShare`.
public enum ShareStanding: Hashable, Sendable {
    /// Anybody. The kept places are closed unless the address has nothing.
    case stranger
    /// One who is known by a seat: the kept places are open.
    case inside
    /// All kept places are open; the claim displaces idle holders of every address, and is displaced by nobody.
    case administrator
}

/// Shares a total, such as the server's seats, among client addresses, so that a few addresses cannot keep all others
/// out. A value; time is an argument.
///
/// A holder has one of `total` places. It is idle until its client has shown that it uses the place, and again when it
/// stops to. ConcurrencyLimit that are left go to who comes first. When none is left, the newcomer displaces the oldest idle
/// holder of the address that has most idle ones. A holder that is not idle is never displaced, nor one of an address
/// that has no more than the newcomer's would have then: an address can displace only holders of a larger one, or its
/// own. Where that leaves nobody, the newcomer displaces the holder that was abandoned first, whosever it is: otherwise
/// visitors who left, each with a place that nobody needs any more, would keep all others out.
///
/// "Address" is an IPv4 address or an IPv6 /48, and within that its /56 and its /64 (`IPAddress.sharePrefixes`): most
/// providers give one customer that many /64. A place whose time ran out unused counts as held for another minute
/// (`lapseMemory`), so that an address that never uses its places has more than one that comes for the first time.
///
/// A tenth of the total is kept back, for administrators, for those inside, and for addresses that have nothing; a
/// quarter of that for administrators alone.
///
/// A claim with a place left, and every other operation, takes the same time for any number of holders (amortized). A
/// claim that displaces or is refused looks at each /48 with idle holders and at each abandoned holder once: at most
/// twice `total` look-ups in a hash table. The memory is bounded by `total` holders and `mostLapses` addresses.
public struct FairShare<Holder: Hashable & Sendable>: Sendable {
    /// Why a claim is refused.
    public typealias Refusal = AddressTally.Refusal

    /// The answer to a claim.
    public enum Answer: Hashable, Sendable {
        case taken
        /// The place is taken, and this holder has lost its own. The caller ends what it stands for.
        /// `wasAbandoned`: nobody was left who could use the place; where somebody has come by then, the caller may keep
        /// it and `add` it.
        case displaced(Holder, wasAbandoned: Bool = false)
        /// `address`: the address has its most, and none of its holders is idle. `total`: no place is left, and no
        /// holder may be displaced.
        case refused(Refusal)
    }

    private struct Entry {
        var path: [IPNetwork]
        var isIdle: Bool
        /// Whether the holder counts as busy whatever it does.
        var isProtected: Bool
    }

    private struct Lapse {
        var end: Instant
        var path: [IPNetwork]
    }

    /// How long a place whose time ran out unused counts as held.
    public static var lapseMemory: Duration { .seconds(60) }

    /// The places.
    public let total: Int
    /// The places of one IPv4 address or IPv6 /64.
    public let perAddress: Int
    /// Whether a newcomer may displace an idle holder of its own address. False where an idle holder is one who waits,
    /// and would only come again.
    public let replacesOwn: Bool
    /// Holders that lost their places to newcomers, since the start.
    public private(set) var displaced = 0
    /// Refused claims since the start, by reason.
    public private(set) var refused: [Refusal: Int] = [:]
    private var entries: [Holder: Entry] = [:]
    private var shares = PrefixShares<Holder>()
    /// The idle holders whose clients have left, and the steps at which they did.
    private var abandoned: [Holder: UInt64] = [:]
    private var lastStep: UInt64 = 0
    /// Oldest first; those before `firstLapse` are over.
    private var lapses: [Lapse] = []
    private var firstLapse = 0

    /// An empty share with its two limits.
    public init(total: Int, perAddress: Int = .max, replacesOwn: Bool = true) {
        self.total = total
        self.perAddress = perAddress
        self.replacesOwn = replacesOwn
    }

    /// The places that are taken.
    public var count: Int { entries.count }
    /// The holders that could be displaced.
    public var idleCount: Int { shares.idleCount }
    /// The places that are kept back.
    public var kept: Int { total > 1 ? max(1, total / 10) : 0 }
    private var mostLapses: Int { max(4096, 4 * total) }

    /// Whether `holder` has a place.
    public func holds(_ holder: Holder) -> Bool { entries[holder] != nil }
    /// The places of an address.
    public func count(of address: IPAddress?) -> Int { shares.held(by: IPAddress.sharePath(address)) }

    /// Takes a place for `holder`, which may displace another, or refuses it. A holder that has a place keeps it.
    ///
    /// - Parameters:
    ///   - address: the client's; nil: unknown, and everybody whose address is unknown shares one without a limit.
    ///   - isIdle: whether the holder may be displaced until `use`.
    public mutating func claim(
        _ holder: Holder, from address: IPAddress?, as standing: ShareStanding = .stranger, isIdle: Bool = true,
        at now: Instant
    ) -> Answer {
        forgetLapses(at: now)
        if entries[holder] != nil { return .taken }
        let path = IPAddress.sharePath(address)
        let answer = answer(to: path, standing, hasLimit: address != nil)
        switch answer {
        case .taken: break
        case .displaced(let other, _):
            displaced += 1
            release(other, at: now)
        case .refused(let reason):
            refused[reason, default: 0] += 1
            return answer
        }
        enter(holder, path, isIdle: isIdle, isProtected: standing == .administrator)
        return answer
    }

    /// Takes a place for `holder` even where none is left: it exists, whatever its claim would get.
    public mutating func add(_ holder: Holder, from address: IPAddress?, isIdle: Bool = true) {
        guard entries[holder] == nil else { return }
        enter(holder, IPAddress.sharePath(address), isIdle: isIdle, isProtected: false)
    }

    private mutating func enter(_ holder: Holder, _ path: [IPNetwork], isIdle: Bool, isProtected: Bool) {
        entries[holder] = Entry(path: path, isIdle: false, isProtected: isProtected)
        shares.add(path)
        if isIdle { rest(holder) }
    }

    /// Notes that the holder's client uses the place: nobody displaces it.
    public mutating func use(_ holder: Holder) {
        guard let entry = entries[holder], entry.isIdle else { return }
        entries[holder]?.isIdle = false
        abandoned[holder] = nil
        shares.use(entry.path, holder)
    }

    /// Notes that the holder's client uses its place no more, from now on.
    public mutating func rest(_ holder: Holder) {
        guard let entry = entries[holder], !entry.isIdle, !entry.isProtected else { return }
        entries[holder]?.isIdle = true
        shares.rest(entry.path, holder)
    }

    /// Notes that nobody is left who could use the place, from now on.
    public mutating func abandon(_ holder: Holder) {
        rest(holder)
        guard entries[holder]?.isIdle == true, abandoned[holder] == nil else { return }
        lastStep += 1
        abandoned[holder] = lastStep
    }

    /// Notes that somebody has come who will use an abandoned place: it is idle as before.
    public mutating func revive(_ holder: Holder) { abandoned[holder] = nil }

    /// Gives the place back. Without a place nothing happens, so that who was displaced may end in its usual way.
    ///
    /// - Parameter unused: the client never used the place and let its time run out; see `lapseMemory`.
    public mutating func release(_ holder: Holder, unused: Bool = false, at now: Instant) {
        guard let entry = entries.removeValue(forKey: holder) else { return }
        if entry.isIdle { shares.use(entry.path, holder) }
        abandoned[holder] = nil
        if unused {
            if lapses.count - firstLapse >= mostLapses { forgetFirstLapse() }
            shares.lapse(entry.path)
            lapses.append(Lapse(end: now + Self.lapseMemory, path: entry.path))
        }
        shares.remove(entry.path)
    }

    private func answer(to path: [IPNetwork], _ standing: ShareStanding, hasLimit: Bool) -> Answer {
        if hasLimit, shares.held(by: path) >= perAddress {
            guard replacesOwn, let own = shares.oldestIdle(of: path) else { return .refused(.address) }
            return loss(of: own)
        }
        if count < total - closed(to: path, standing) { return .taken }
        let victim =
            shares.victim(for: path, isBound: standing != .administrator, replacesOwn: replacesOwn)
            ?? abandoned.min { $0.value < $1.value }?.key
        return victim.map { loss(of: $0) } ?? .refused(.total)
    }

    private func loss(of holder: Holder) -> Answer { .displaced(holder, wasAbandoned: abandoned[holder] != nil) }

    /// The kept places that are closed to a claim.
    private func closed(to path: [IPNetwork], _ standing: ShareStanding) -> Int {
        // A total with one kept place has none for administrators alone.
        let ofAdministrators = kept > 1 ? max(1, kept / 4) : 0
        switch standing {
        case .administrator: return 0
        case .inside: return ofAdministrators
        case .stranger: return shares.hasNothing(path) ? ofAdministrators : kept
        }
    }

    private mutating func forgetLapses(at now: Instant) {
        while firstLapse < lapses.count, lapses[firstLapse].end <= now { forgetFirstLapse() }
    }

    private mutating func forgetFirstLapse() {
        shares.forgetLapse(lapses[firstLapse].path)
        firstLapse += 1
        if firstLapse > 64, firstLapse * 2 > lapses.count {
            lapses.removeFirst(firstLapse)
            firstLapse = 0
        }
    }
}
