import Basics

/// What a datagram on a shared port is, by its first bytes (RFC 7983 §7, RFC 9443, RFC 5761 §4).
public enum DatagramKind: Hashable, Sendable {
    /// STUN, DTLS, SRTP, SRTCP, or something that is none of them.
    case stun, dtls, rtp, rtcp, other

    /// Looks at the first two bytes.
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

/// Whose each user name fragment is, for all demultiplexers of a server: a check may come to any of its sockets.
public final class UfragTable<ID: Hashable & Sendable>: Sendable {
    private let owners = Guarded<[String: ID]>([:])

    /// No fragments.
    public init() {}

    /// Whose a fragment is.
    public subscript(ufrag: String) -> ID? { owners.withLock { $0[ufrag] } }

    /// A fragment that another one has stays that one's; then this is false.
    func add(_ ufrag: String, _ id: ID) -> Bool {
        owners.withLock { owners in
            guard owners[ufrag] == nil else { return false }
            owners[ufrag] = id
            return true
        }
    }

    func remove(_ ufrag: String) { owners.withLock { $0[ufrag] = nil } }
}

/// Tells whose a datagram is, on ports that all peers share: STUN requests by the user name fragment that they carry,
/// everything else by the flow that such a request came on.
///
/// Where several sockets share a port, each thread that reads one has its own demultiplexer, for the flows that come to
/// it; the fragments are in one table.
///
/// Routing proves nothing and binds nothing: a fragment may be known to others, and a source address may be forged. The
/// peer that gets the datagram says what it showed (`PeerConnection.receive`), and `claim` weighs that. A flow that
/// nobody has is bound by an authentic check. One that another peer has is bound anew only where the claimant has
/// answered a check of ours on it (a NAT gave it the address of somebody who is gone), or where the owner does not hold
/// it any more.
///
/// What is remembered is bounded per peer, so no peer can take the room of others.
public struct Demultiplexer<ID: Hashable & Sendable>: Sendable {
    private struct Peer {
        var ufrags: [String] = []
        /// The longest unclaimed first.
        var flows: [Flow] = []
    }
    /// Claims on flows of others that wait for an answer to our check. An answer takes a round trip; claims come again
    /// with each check.
    private static var claimLimit: Int { 256 }

    private var peers: [ID: Peer] = [:]
    private let ufrags: UfragTable<ID>
    private var flows: [Flow: ID] = [:]
    private var claimants: [Flow: ID] = [:]
    private let flowsPerPeer: Int

    /// - Parameters:
    ///   - ufrags: the fragments of the whole server.
    ///   - flowsPerPeer: beyond it a peer's own flow without a check for the longest time is forgotten. More than the
    ///     paths of an `ICEAgent`.
    public init(ufrags: UfragTable<ID> = UfragTable(), flowsPerPeer: Int = 16) {
        self.ufrags = ufrags
        self.flowsPerPeer = max(1, flowsPerPeer)
    }

    /// Whose a flow is; nil where nobody has shown that it is theirs.
    public func owner(of flow: Flow) -> ID? { flows[flow] }

    /// How many flows are remembered.
    public var flowCount: Int { flows.count }

    /// Checks that name this fragment of ours are for that peer. A fragment that another one has stays that one's.
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

    /// Forgets everything about a peer.
    public mutating func remove(_ id: ID) {
        guard let peer = peers.removeValue(forKey: id) else { return }
        for ufrag in peer.ufrags { ufrags.remove(ufrag) }
        for flow in peer.flows { flows[flow] = nil }
    }

    /// Forgets a flow that ended (TCP), and tells whose it was.
    @discardableResult
    public mutating func remove(_ flow: Flow) -> ID? {
        claimants[flow] = nil
        guard let id = flows.removeValue(forKey: flow) else { return nil }
        peers[id]?.flows.removeAll { $0 == flow }
        return id
    }

    /// Says that `flow` is the peer's, as a caller knows who opened the connection itself.
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

    /// A datagram on `flow` that was given to peer `id` has shown this of the flow. Answers whether the flow is that
    /// peer's now.
    ///
    /// - Parameter isHeld: whether a peer still believes the flow to be its own (`PeerConnection.isValidated`); asked
    ///   for its owner where that is another one.
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

    /// Whose datagram this is; nil for a stranger's.
    public func route(_ datagram: UnsafeRawBufferPointer, flow: Flow) -> ID? {
        guard DatagramKind(datagram) == .stun, let ufrag = Self.localUfrag(datagram) else { return flows[flow] }
        return ufrags[ufrag]
    }

    /// Who claims a flow of another peer's and is to see this STUN response as well: it may answer our check of that
    /// claim.
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
                // RFC 8839 §5.4: at most 256 characters, and ours are 8.
                guard length <= 513 else { return nil }
                return String(decoding: bytes[offset + 4..<end].prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
            }
            offset = end + (-length & 3)
        }
        return nil
    }
}
