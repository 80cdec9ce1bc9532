import Basics

/// What shows that a node has ended whose internal port refuses connections, before its lease ends: a firewall on one
/// path refuses them too, in the name of a node that lives.
enum DeathEvidence {
    /// Between two reports of a node's load.
    static let reportPeriod = Duration.seconds(2)

    /// - Parameters:
    ///   - witnesses: what other nodes say of it.
    ///   - silence: the time since it last wrote to the store, by its lease; nil: nothing is known.
    static func suffices(witnesses: [PeerReach], silence: Duration?) -> Bool {
        if witnesses.contains(.reached) { return false }
        if witnesses.contains(.refused) { return true }
        // Nobody else can tell: two missing reports do.
        return silence.map { $0 >= reportPeriod * 2 } ?? true
    }
}
