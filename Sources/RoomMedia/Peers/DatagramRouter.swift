import Basics
import Peer
import Sockets

/// Which peer gets a datagram that this loop reads. A value.
///
/// The system chooses the loop that reads a flow, by the flow's addresses; the peer may be on another loop. So each loop
/// keeps the owners of the flows that it reads (`Demultiplexer`), and parcels for the other loops, which it hands over
/// once a turn.
struct DatagramRouter {
    private var demultiplexer: Demultiplexer<PeerID>
    /// The datagrams of this turn for the peers of other loops.
    private var parcels: [Int: DatagramParcel] = [:]

    init(ufrags: LoopUfrags) { demultiplexer = Demultiplexer(ufrags: ufrags) }

    /// Another peer than the owner that gets a datagram too, first: it may answer our check of that peer, which claims the
    /// flow. Reading the answer changes nothing in place.
    func claimant(of datagram: UnsafeRawBufferPointer, flow: Flow) -> PeerID? {
        demultiplexer.claimant(of: datagram, flow: flow)
    }

    /// The peer that a datagram is for.
    func owner(of datagram: UnsafeRawBufferPointer, flow: Flow) -> PeerID? {
        demultiplexer.route(datagram, flow: flow)
    }

    func isOwned(_ flow: Flow) -> Bool { demultiplexer.owner(of: flow) != nil }

    /// Settles the claim of a peer of any loop on a flow that this loop reads. Returns whether the flow is a peer's now.
    ///
    /// - Parameter isValidated: whether the owner of the flow has answered a check on it.
    mutating func settle(
        _ claim: FlowClaim, on flow: Flow, by id: PeerID, isValidated: (PeerID) -> Bool
    ) -> Bool {
        demultiplexer.claim(flow, by: id, claim, isHeld: isValidated)
    }

    mutating func setUfrags(_ ufrags: [String], of id: PeerID) { demultiplexer.setUfrags(ufrags, of: id) }
    mutating func remove(_ id: PeerID) { demultiplexer.remove(id) }
    /// Forgets a flow that has ended. Returns its owner.
    mutating func remove(_ flow: Flow) -> PeerID? { demultiplexer.remove(flow) }

    // MARK: - Other loops

    mutating func keep(_ datagram: UnsafeRawBufferPointer, _ flow: Flow, for id: PeerID, at now: Instant) {
        parcels[id.loop, default: DatagramParcel()].append(datagram, flow: flow, seat: id.number, at: now)
    }

    /// The parcels of this turn, by the loops that get them.
    mutating func takeParcels() -> [Int: DatagramParcel] {
        if parcels.isEmpty { return [:] }
        defer { parcels.removeAll(keepingCapacity: true) }
        return parcels
    }
}
