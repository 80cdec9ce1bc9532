import Basics

/// The loops of a server, for one another: where each finds the others from its start until the end of all.
final class HostTable: Sendable {
    private let hosts = Guarded<[PeerHost]>([])

    func set(_ hosts: [PeerHost]) { self.hosts.withLock { $0 = hosts } }

    /// The loops and the table hold each other until then.
    func clear() { set([]) }

    subscript(loop: Int) -> PeerHost? { hosts.withLock { $0.indices.contains(loop) ? $0[loop] : nil } }
}
