import Basics

/// To whom each name belongs: tokens of two people may have the same one, and what is written to a name reaches one
/// account only.
///
/// The account that comes first has the name, until a day after its last session; another one is shown with a mark of
/// its own meanwhile.
struct SocketIONames: Sendable {
    /// How long a name waits for its account after the last session.
    static let stay = Duration.seconds(86_400)
    static let limit = 20_000

    private struct Owner {
        var account: String
        var sessions = 0
        var since: Instant
    }

    private var owners: [String: Owner] = [:]

    var count: Int { owners.count }

    /// The identity under the name by which others know it from now on; `leave` ends what this begins.
    mutating func enter(_ identity: SocketIOIdentity, at now: Instant) -> SocketIOIdentity {
        var identity = identity
        let holder = owners[identity.user.lowercased()]
        if let holder, holder.account != identity.account, holder.sessions > 0 || now < holder.since + Self.stay {
            identity.user = identity.marked
        }
        let key = identity.user.lowercased()
        var owner = owners[key] ?? Owner(account: identity.account, since: now)
        if owner.account != identity.account { owner = Owner(account: identity.account, since: now) }
        owner.sessions += 1
        owners[key] = owner
        return identity
    }

    mutating func leave(_ identity: SocketIOIdentity, at now: Instant) {
        let key = identity.user.lowercased()
        guard var owner = owners[key], owner.account == identity.account else { return }
        owner.sessions -= 1
        owner.since = now
        owners[key] = owner
        guard owners.count > Self.limit else { return }
        owners = owners.filter { $0.value.sessions > 0 || now < $0.value.since + Self.stay }
        if owners.count > Self.limit,
            let oldest = owners.filter({ $0.value.sessions == 0 }).min(by: { $0.value.since < $1.value.since })
        {
            owners[oldest.key] = nil
        }
    }
}
