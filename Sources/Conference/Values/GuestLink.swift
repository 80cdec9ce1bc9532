import Basics
import Cryptography
package import FoundationEssentials

/// A link by which guests come into a room without its PIN, in mode `token` without a token of their own, until its end.
package struct GuestLink: Hashable, Sendable {
    /// The roles that a link may give: hosts have keys.
    package static let roles: [Role] = [.participant, .presenter, .viewer]
    /// The longest life of a link, and how many guests it may be for where they are counted.
    package static let longest = TimeInterval(30 * 86_400)
    package static let allowedUses = 1...100
    package static let usualLife = TimeInterval(86_400)

    package let id: String
    package let role: Role
    package let expires: Date
    /// The most guests; nil: any number.
    package let uses: Int?
    /// What opens the room.
    let key: HostKey
    /// Joins by the link; of a link with a number of guests, the guests.
    package fileprivate(set) var used = 0
    /// The digests of what the guests' browsers call themselves, so that who comes back does not count again.
    fileprivate(set) var visits: [String] = []

    /// The secret of the link; nil: the server has started since, and knows its digest alone.
    package var secret: String? { key.text }

    fileprivate init(id: String, role: Role, expires: Date, uses: Int?, key: HostKey) {
        (self.id, self.role, self.expires, self.uses, self.key) = (id, role, expires, uses, key)
    }
}

/// What a new link is to be.
package struct GuestLinkRequest: Hashable, Sendable {
    package var role = Role.participant
    /// In seconds, from now.
    package var life = GuestLink.usualLife
    package var uses: Int?

    package init() {}
}

/// What a client shows that comes by a link.
package struct GuestPass: Hashable, Sendable {
    package var link: String
    /// The secret of the link; nil: a token's signature has proved the link already.
    package var secret: String?

    package init(link: String, secret: String? = nil) { (self.link, self.secret) = (link, secret) }

    /// The text of a link's secret as clients of rooms without tokens send it: `guest.ID.SECRET`.
    package var text: String? { secret.map { "guest.\(link).\($0)" } }

    /// Reads such a text; nil for every other.
    package init?(text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "guest", text.utf8.count <= 200 else { return nil }
        self.init(link: String(parts[1]), secret: String(parts[2]))
    }
}

/// The guest links of a room. A value; time is an argument.
struct GuestLinks: Hashable, Sendable {
    /// The most links: a host revokes some before there are more.
    static let most = 50

    private(set) var all: [GuestLink] = []

    init() {}

    /// Those of a stored state.
    init(_ stored: [RoomState.Link]) { all = stored.prefix(Self.most).compactMap { GuestLink($0) } }

    var isEmpty: Bool { all.isEmpty }

    /// How long one of them is good yet.
    func life(at now: Date) -> Duration {
        let last = all.map(\.expires).max() ?? now
        return .seconds(min(max(last.timeIntervalSince(now), 0), GuestLink.longest))
    }

    /// The links that are good, the oldest first.
    func good(at now: Date) -> [GuestLink] { all.filter { $0.expires > now } }

    mutating func make(_ wish: GuestLinkRequest, at now: Date) throws(ConferenceError) -> GuestLink {
        guard GuestLink.roles.contains(wish.role) else {
            throw .badRequest("role: one of \(GuestLink.roles.map(\.rawValue).joined(separator: ", "))")
        }
        guard wish.life >= 60, wish.life <= GuestLink.longest else {
            throw .badRequest("expiresIn: 60 to \(Int(GuestLink.longest)) seconds")
        }
        if let uses = wish.uses, !GuestLink.allowedUses.contains(uses) {
            throw .badRequest(
                "uses: \(GuestLink.allowedUses.lowerBound) to \(GuestLink.allowedUses.upperBound), or nothing for any number"
            )
        }
        all.removeAll { $0.expires <= now }
        guard all.count < Self.most else {
            throw .conflict("A room has at most \(Self.most) guest links: revoke some that are not needed any more.")
        }
        guard let key = HostKey.make() else { throw .internalFailure("no random key") }
        let link = GuestLink(
            id: RandomToken.make(12), role: wish.role, expires: now + wish.life.rounded(.up), uses: wish.uses, key: key)
        all.append(link)
        return link
    }

    mutating func revoke(_ id: String, at now: Date) throws(ConferenceError) {
        guard good(at: now).contains(where: { $0.id == id }) else { throw .guestLinkNotFound }
        all.removeAll { $0.id == id }
    }

    /// The link of a guest who may come in by it.
    ///
    /// - Parameter isPresent: whether somebody who calls itself so is in the room.
    func link(
        for pass: GuestPass, _ visit: String?, isPresent: (String) -> Bool, at now: Date
    ) throws(ConferenceError) -> GuestLink {
        guard let link = all.first(where: { $0.id == pass.link }), link.expires > now,
            pass.secret.map({ HostKey($0).map { isEqual($0.digest, link.key.digest) } ?? false }) ?? true
        else { throw .forbidden("This guest link is not good any more: ask for another one.") }
        if let uses = link.uses, link.used >= uses, !isBack(visit, link, isPresent) {
            throw .forbidden("This guest link was for \(uses) \(uses == 1 ? "person" : "people"): ask for another one.")
        }
        return link
    }

    /// Counts a guest who has come in by a link. Returns what the guest's browser is known by.
    mutating func use(_ pass: GuestPass, _ visit: String?, isPresent: (String) -> Bool) -> String? {
        guard let index = all.firstIndex(where: { $0.id == pass.link }) else { return nil }
        let digest = visit.map { Self.digest($0, all[index]) }
        if isBack(visit, all[index], isPresent) { return digest }
        all[index].used += 1
        if let digest, all[index].uses != nil, !all[index].visits.contains(digest) { all[index].visits.append(digest) }
        return digest
    }

    /// Whether the guest was there before and is not now: two at once are two, whatever they call themselves.
    private func isBack(_ visit: String?, _ link: GuestLink, _ isPresent: (String) -> Bool) -> Bool {
        guard let digest = visit.map({ Self.digest($0, link) }) else { return false }
        return link.visits.contains(digest) && !isPresent(digest)
    }

    private static func digest(_ visit: String, _ link: GuestLink) -> String {
        Hexadecimal.encode(HashFunction.sha256.digest(Array("\(link.id) \(visit.prefix(128))".utf8)).prefix(8))
    }
}

extension RoomState.Link {
    init(_ link: GuestLink) {
        self.init(
            id: link.id, role: link.role.rawValue, expires: link.expires, uses: link.uses, key: link.key.digest,
            used: link.used, visits: link.visits)
    }
}

extension GuestLink {
    /// nil for a stored link that is none.
    fileprivate init?(_ stored: RoomState.Link) {
        guard let role = Role(rawValue: stored.role), Self.roles.contains(role),
            let key = HostKey(digest: stored.key), (1...32).contains(stored.id.utf8.count),
            // Of the years 1970 to 9999: others cannot be written as a date.
            (0...253_402_300_799).contains(stored.expires.timeIntervalSince1970)
        else { return nil }
        if let uses = stored.uses, !Self.allowedUses.contains(uses) { return nil }
        self.init(id: stored.id, role: role, expires: stored.expires, uses: stored.uses, key: key)
        used = min(max(stored.used ?? 0, 0), 1_000_000)
        visits = Array((stored.visits ?? []).prefix(Self.allowedUses.upperBound))
    }
}
