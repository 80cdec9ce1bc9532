import Basics

/// The loops of a server, for one another: where each finds the others from its start until the end of all.
final class PeerLoopTable: Sendable {
    private let hosts = Guarded<[PeerLoop]>([])

    func set(_ hosts: [PeerLoop]) { self.hosts.withLock { $0 = hosts } }

    /// The loops and the table hold each other until then.
    func clear() { set([]) }

    subscript(loop: Int) -> PeerLoop? { hosts.withLock { $0.indices.contains(loop) ? $0[loop] : nil } }
}
