import Basics
import Cryptography

/// The keys of a room's hosts, and how long the room waits for their holders. A value; time is an argument.
///
/// Where no token decides who moderates, the first participant with native signalling gets a key, and so does whom a
/// host makes a moderator. While there are keys, only a holder becomes a moderator by joining. Where no holder is there,
/// the room waits before a member *acts* as the moderator: without a key, and until a holder is back.
struct Hosts: Hashable, Sendable {
    /// The most keys: more people than share the work of a host. A further moderator acts, without a key.
    static let most = 16
    /// How long the keys are good after the last person has left, and how long those wait for a holder who come then.
    static let keep = Duration.seconds(3600)

    /// Digests, the oldest first; the API's before all others.
    private(set) var keys: [String] = []
    /// The API has set the key: nobody gets another one by being first, or acts.
    private(set) var areGiven = false
    /// Until when nobody acts; nil: the room waits for nobody.
    private(set) var awaitedUntil: Instant?

    init() {}

    /// Those of a stored state.
    init(keys: [String], areGiven: Bool) {
        self.keys = Array(keys.filter { HostKey.isDigest($0) }.prefix(Self.most))
        self.areGiven = areGiven && !self.keys.isEmpty
    }

    var isEmpty: Bool { keys.isEmpty }

    /// Whether this is one of the keys. Compares in a time that does not depend on where they differ.
    func holds(_ key: HostKey?) -> Bool {
        guard let key else { return false }
        return keys.reduce(false) { isEqual($1, key.digest) || $0 }
    }

    /// The key of this text; nil where it is none of the room.
    func key(_ text: String?) -> HostKey? { text.flatMap { HostKey($0) }.flatMap { holds($0) ? $0 : nil } }

    /// Makes another key; nil where there are as many as may be.
    mutating func make() -> HostKey? {
        guard keys.count < Self.most, let key = HostKey.make() else { return nil }
        keys.append(key.digest)
        return key
    }

    /// Takes the API's key in place of all others; nil: there is none any more.
    mutating func give(_ key: HostKey?) {
        keys = key.map { [$0.digest] } ?? []
        (areGiven, awaitedUntil) = (key != nil, nil)
    }

    /// Makes the key of a member void that is no host any more.
    mutating func void(_ key: HostKey?) {
        guard let key else { return }
        // The API's is the program's, and stays.
        let given = areGiven ? keys.first : nil
        keys.removeAll { $0 == key.digest && $0 != given }
    }

    /// Begins to wait for a holder, where the room does not yet.
    mutating func wait(until limit: Instant) { awaitedUntil = awaitedUntil ?? limit }
    /// A holder is back, or somebody acts.
    mutating func endWait() { awaitedUntil = nil }
    /// Whether the holders have not come in time.
    func isWaitOver(at now: Instant) -> Bool { awaitedUntil.map { $0 <= now } ?? false }

    /// The keys without what concerns the present meeting.
    var lasting: Hosts {
        var lasting = self
        lasting.awaitedUntil = nil
        return lasting
    }
}
