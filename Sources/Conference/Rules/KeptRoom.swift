import Basics
import FoundationEssentials

/// What outlives a room: the next one of its name takes it over.
struct KeptRoom: Hashable, Sendable {
    var hosts = Hosts()
    var links = GuestLinks()

    var isEmpty: Bool { hosts.isEmpty && links.isEmpty }
}

extension RoomState.HostKeys {
    /// nil where there are no keys.
    init?(_ hosts: Hosts) {
        guard !hosts.isEmpty else { return nil }
        self.init(keys: hosts.keys, given: hosts.areGiven ? true : nil)
    }
}

extension Hosts {
    init(_ state: RoomState.HostKeys?) { self.init(keys: state?.keys ?? [], areGiven: state?.given ?? false) }
}

extension KeptRoom {
    init(_ state: RoomState) { self.init(hosts: Hosts(state.hosts), links: GuestLinks(state.links)) }
}
