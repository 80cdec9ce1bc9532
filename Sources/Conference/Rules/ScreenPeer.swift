import Basics

/// The second peer of a participant, which sends the participant's screen and nothing else (WHIP with `?screen=`).
struct ScreenPeer: Hashable, Sendable {
    /// The peer's, as in the registry and on the loops.
    let id: String
    /// When the media connection was lost, or when the peer was made if there was none yet; nil: it is connected.
    var lostAt: Instant?
    /// Whether it has been connected: the participant presents from then on.
    var hasBegun = false
}

extension Room {
    /// Gives a member a peer for its screen, instead of one that it may have already.
    mutating func addScreenPeer(_ peer: String, of id: String, at now: Instant) throws(ConferenceError) {
        try require(.present, id)
        try change(id) { member throws(ConferenceError) in
            let old = member.screenPeer
            if member.isPresenting, old?.hasBegun != true {
                throw .conflict("You present already, by the connection of your camera: end that first.")
            }
            member.screenPeer = ScreenPeer(id: peer, lostAt: now)
            // Another one in its place begins with its first picture, which comes in the same tile.
            member.screenPeer?.hasBegun = member.isPresenting
        }
    }

    /// The connection of a screen's peer is up or lost. The member presents from the first connection on.
    mutating func screenPeer(_ peer: String, of id: String, isConnected: Bool, at now: Instant) {
        guard var known = member(id)?.screenPeer, known.id == peer else { return }
        known.lostAt = isConnected ? nil : known.lostAt ?? now
        let begins = isConnected && !known.hasBegun
        known.hasBegun = known.hasBegun || isConnected
        _ = try? change(id) { member throws(ConferenceError) in member.screenPeer = known }
        guard begins else { return }
        do {
            try beginPresenting(id)
        } catch {
            // The role has changed since.
            removeScreenPeer(peer, of: id)
        }
    }

    /// Takes the peer of a screen from its member, whose presenting ends.
    mutating func removeScreenPeer(_ peer: String, of id: String) {
        guard member(id)?.screenPeer?.id == peer else { return }
        _ = try? change(id) { member throws(ConferenceError) in
            member.stopPresenting()
            member.screenPeer = nil
        }
    }

    /// The peers of screens whose connections have been lost for too long.
    func expiredScreenPeers(at now: Instant) -> [String] {
        members.compactMap { member in
            member.screenPeer.flatMap { peer in
                peer.lostAt.map { now - $0 >= Room.silenceLimit } == true ? peer.id : nil
            }
        }
    }
}
