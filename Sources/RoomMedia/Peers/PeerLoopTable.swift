import Basics

/// The table in which each loop of a server finds the others, from the start until the server ends.
final class PeerLoopTable: Sendable {
    private let hosts = Guarded<[PeerLoop]>([])

    func set(_ hosts: [PeerLoop]) { self.hosts.withLock { $0 = hosts } }

    /// Breaks the reference cycle between the loops and the table.
    func clear() { set([]) }

    subscript(loop: Int) -> PeerLoop? { hosts.withLock { $0.indices.contains(loop) ? $0[loop] : nil } }
}
