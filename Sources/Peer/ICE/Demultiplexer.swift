public import Basics

/// The protocol of a datagram on a shared port, by its first bytes (RFC 7983 §7, RFC 9443, RFC 5761 §4).
public enum DatagramKind: Hashable, Sendable {
    /// STUN, DTLS, SRTP, SRTCP, or none of them.
    case stun, dtls, rtp, rtcp, other

    /// Classifies by the first two bytes.
    public init(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 2 else {
            self = .other
            return
        }
        switch bytes[0] {
        case 0...3: self = .stun
        case 20...63: self = .dtls
        // With the marker bit as part of it, 192…223 are the RTCP packet types.
        case 128...191: self = (192...223).contains(bytes[1]) ? .rtcp : .rtp
        default: self = .other
        }
    }
}

/// The owner of each user name fragment, for all demultiplexers of a server: a check may come to any of its sockets.
public final class UfragTable<ID: Hashable & Sendable>: Sendable {
    private let owners = Guarded<[String: ID]>([:])

    /// Makes a table without fragments.
    public init() {}

    /// The owner of a fragment; nil if there is none.
    public subscript(ufrag: String) -> ID? { owners.withLock { $0[ufrag] } }

    /// Adds a fragment; false if it belongs to another peer, which keeps it.
    func add(_ ufrag: String, _ id: ID) -> Bool {
        owners.withLock { owners in
            guard owners[ufrag] == nil else { return false }
            owners[ufrag] = id
            return true
        }
    }

    func remove(_ ufrag: String) { owners.withLock { $0[ufrag] = nil } }
}

/// Finds the peer that a datagram belongs to, on ports that all peers share: STUN requests by the user name fragment
/// that they carry, everything else by the flow that such a request came on.
///
/// If several sockets share a port, each thread that reads one has its own demultiplexer, for the flows that come to
/// it; all of them share one table of fragments.
///
/// Routing proves nothing and binds nothing: a fragment may be known to others, and a source address may be forged. The
/// peer that gets the datagram reports what it proved (`PeerConnection.receive`), and `claim` evaluates that. A flow
/// without an owner is bound by an authentic check. A flow of another peer is bound anew only if the claimant has
/// answered a check of ours on it (a NAT gave it the address of a peer that is gone), or if the owner no longer holds
/// it.
///
/// The memory is bounded per peer, so no peer can take the room of others.
public struct Demultiplexer<ID: Hashable & Sendable>: Sendable {
    private struct Peer {
        var ufrags: [String] = []
        /// Ordered by the last claim, the oldest first.
        var flows: [Flow] = []
    }
    /// The most claims on flows of others that wait for an answer to our check. An answer takes a round trip; claims
    /// are repeated with each check.
    private static var claimLimit: Int { 256 }

    private var peers: [ID: Peer] = [:]
    private let ufrags: UfragTable<ID>
    private var flows: [Flow: ID] = [:]
    private var claimants: [Flow: ID] = [:]
    private let flowsPerPeer: Int

    /// - Parameters:
    /// - ufrags: the fragments of the whole server.
    /// - flowsPerPeer: the flows of one peer; beyond it, its flow without a check for the longest time is forgotten.
    ///   More than the paths of an `ICEAgent`.
    public init(ufrags: UfragTable<ID> = UfragTable(), flowsPerPeer: Int = 16) {
        self.ufrags = ufrags
        self.flowsPerPeer = max(1, flowsPerPeer)
    }

    /// The owner of a flow; nil if no peer has proved that it is its own.
    public func owner(of flow: Flow) -> ID? { flows[flow] }

    /// The number of flows that are remembered.
    public var flowCount: Int { flows.count }

    /// Routes checks that name this fragment of ours to the peer. A fragment of another peer stays that peer's.
    public mutating func add(ufrag: String, _ id: ID) {
        guard ufrags.add(ufrag, id) else { return }
        peers[id, default: Peer()].ufrags.append(ufrag)
    }

    /// Makes `current` the peer's only fragments.
    public mutating func setUfrags(_ current: [String], of id: ID) {
        for ufrag in peers[id]?.ufrags ?? [] where !current.contains(ufrag) { ufrags.remove(ufrag) }
        peers[id, default: Peer()].ufrags.removeAll { !current.contains($0) }
        for ufrag in current { add(ufrag: ufrag, id) }
    }

    /// Removes a peer with its fragments and flows.
    public mutating func remove(_ id: ID) {
        guard let peer = peers.removeValue(forKey: id) else { return }
        for ufrag in peer.ufrags { ufrags.remove(ufrag) }
        for flow in peer.flows { flows[flow] = nil }
    }

    /// Removes a flow that ended (TCP), and returns its owner.
    @discardableResult
    public mutating func remove(_ flow: Flow) -> ID? {
        claimants[flow] = nil
        guard let id = flows.removeValue(forKey: flow) else { return nil }
        peers[id]?.flows.removeAll { $0 == flow }
        return id
    }

    /// Binds `flow` to the peer without a check: a caller opened the connection itself.
    public mutating func bind(_ flow: Flow, to id: ID) {
        if flows[flow] == id {
            guard let index = peers[id]?.flows.lastIndex(of: flow), index + 1 != peers[id]?.flows.count else { return }
            peers[id]?.flows.remove(at: index)
            peers[id]?.flows.append(flow)
            return
        }
        remove(flow)
        if let oldest = peers[id]?.flows.first, (peers[id]?.flows.count ?? 0) >= flowsPerPeer { remove(oldest) }
        flows[flow] = id
        peers[id, default: Peer()].flows.append(flow)
    }

    /// Evaluates what a datagram on `flow`, which was passed to peer `id`, proved about the flow. True if the flow
    /// belongs to that peer now.
    ///
    /// - Parameter isHeld: whether a peer still regards the flow as its own (`PeerConnection.isValidated`); called for
    ///   the owner if that is another peer.
    @discardableResult
    public mutating func claim(_ flow: Flow, by id: ID, _ claim: FlowClaim, isHeld: (ID) -> Bool) -> Bool {
        guard claim != .none else { return false }
        if let owner = flows[flow], owner != id, claim != .answered, isHeld(owner) {
            if claimants.count >= Self.claimLimit { claimants.removeAll(keepingCapacity: true) }
            claimants[flow] = id
            return false
        }
        bind(flow, to: id)
        return true
    }

    /// The peer that a datagram belongs to; nil for an unknown sender.
    public func route(_ datagram: UnsafeRawBufferPointer, flow: Flow) -> ID? {
        guard DatagramKind(datagram) == .stun, let ufrag = Self.localUfrag(datagram) else { return flows[flow] }
        return ufrags[ufrag]
    }

    /// The peer that claims a flow of another one and must also see this STUN response, which may answer our check of
    /// that claim.
    public func claimant(of datagram: UnsafeRawBufferPointer, flow: Flow) -> ID? {
        guard !claimants.isEmpty, datagram.count >= STUNMessage.headerLength, datagram[0] == 1 else { return nil }
        return claimants[flow]
    }

    /// The part of a Binding request's USERNAME before the colon: our fragment.
    private static func localUfrag(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard bytes.count >= STUNMessage.headerLength, bytes[0] == 0, bytes[1] == 1 else { return nil }
        var offset = STUNMessage.headerLength
        while offset + 4 <= bytes.count {
            let type = UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
            let length = Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])
            let end = offset + 4 + length
            guard end <= bytes.count else { return nil }
            if type == STUNMessage.AttributeType.username {
                // RFC 8839 §5.4: at most 256 characters; ours have 8.
                guard length <= 513 else { return nil }
                return String(decoding: bytes[offset + 4..<end].prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
            }
            offset = end + (-length & 3)
        }
        return nil
    }
}
