/// The peers of one loop, found by participant, by number and by room.
struct HostedPeers {
    private var byParticipant: [String: PeerSession] = [:]
    private var byNumber: [Int: PeerSession] = [:]
    /// In the order in which the peers joined, so that a frame's delivery costs nothing for other rooms.
    private var byRoom: [String: [PeerSession]] = [:]
    private var latestNumber = 0

    /// A number that no peer of the loop had before.
    mutating func makeNumber() -> Int {
        latestNumber += 1
        return latestNumber
    }

    subscript(participant: String) -> PeerSession? { byParticipant[participant] }
    subscript(number: Int) -> PeerSession? { byNumber[number] }
    func inRoom(_ room: String) -> [PeerSession] { byRoom[room] ?? [] }

    /// Whether this is the participant's peer: the participant may be back with another connection already.
    func contains(_ peer: PeerSession) -> Bool { byParticipant[peer.id] === peer }

    mutating func add(_ peer: PeerSession) {
        byParticipant[peer.id] = peer
        byNumber[peer.seatID.number] = peer
        byRoom[peer.engine.id, default: []].append(peer)
    }

    mutating func remove(_ participant: String) -> PeerSession? {
        guard let peer = byParticipant.removeValue(forKey: participant) else { return nil }
        byNumber[peer.seatID.number] = nil
        let room = peer.engine.id
        byRoom[room]?.removeAll { $0 === peer }
        if byRoom[room]?.isEmpty == true { byRoom[room] = nil }
        return peer
    }
}
