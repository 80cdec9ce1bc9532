import Basics

/// What a datagram on a shared port is, by its first bytes (RFC 7983 §7, RFC 9443, RFC 5761 §4).
public enum DatagramKind: Hashable, Sendable {
    case stun, dtls, rtp, rtcp, other

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

/// Tells whose a datagram is, on ports that all peers share: STUN requests by the user name fragment that they carry,
/// everything else by the flow that such a request came on.
///
/// A flow belongs to the last fragment that spoke on it: a NAT may give one participant's address to the next. Whether the
/// request was authentic is for the peer's `IceAgent` to say; a stranger who knows no fragment gets nowhere.
public struct Demultiplexer<ID: Hashable & Sendable>: Sendable {
    private var ufrags: [String: ID] = [:]
    private var flows: [Flow: ID] = [:]
    /// Flows of each peer, oldest first.
    private var flowsOfPeer: [ID: [Flow]] = [:]
    private let flowLimit: Int
    private let flowsPerPeer: Int

    /// - Parameters:
    ///   - flowLimit: how many flows are remembered in all; then new ones are refused until a peer leaves.
    ///   - flowsPerPeer: beyond it a peer's own oldest is forgotten. More than the tuples of an `IceAgent`.
    public init(flowLimit: Int = 4096, flowsPerPeer: Int = 16) {
        self.flowLimit = flowLimit
        self.flowsPerPeer = max(1, flowsPerPeer)
    }

    /// How many flows are remembered.
    public var flowCount: Int { flows.count }

    /// Checks that name this fragment of ours are for that peer.
    public mutating func add(ufrag: String, _ id: ID) { ufrags[ufrag] = id }

    /// Forgets one fragment, e.g. after an ICE restart; the peer stays.
    public mutating func remove(ufrag: String) { ufrags[ufrag] = nil }

    /// Makes `current` the peer's only fragments.
    public mutating func setUfrags(_ current: [String], of id: ID) {
        for (ufrag, owner) in ufrags where owner == id && !current.contains(ufrag) { ufrags[ufrag] = nil }
        for ufrag in current { ufrags[ufrag] = id }
    }

    /// Forgets everything about a peer.
    public mutating func remove(_ id: ID) {
        for (ufrag, owner) in ufrags where owner == id { ufrags[ufrag] = nil }
        for flow in flowsOfPeer.removeValue(forKey: id) ?? [] { flows[flow] = nil }
    }

    /// Forgets a flow that ended (TCP).
    public mutating func remove(_ flow: Flow) {
        guard let id = flows.removeValue(forKey: flow) else { return }
        flowsOfPeer[id]?.removeAll { $0 == flow }
    }

    /// Says that `flow` is the peer's, as a caller knows who opened the connection itself.
    public mutating func bind(_ flow: Flow, to id: ID) {
        if let owner = flows[flow] {
            if owner == id { return }
            remove(flow)
        }
        if let oldest = flowsOfPeer[id]?.first, (flowsOfPeer[id]?.count ?? 0) >= flowsPerPeer { remove(oldest) }
        guard flows.count < flowLimit else { return }
        flows[flow] = id
        flowsOfPeer[id, default: []].append(flow)
    }

    /// Whose datagram this is; nil for a stranger's.
    public mutating func route(_ datagram: UnsafeRawBufferPointer, flow: Flow) -> ID? {
        guard DatagramKind(datagram) == .stun, let ufrag = Self.localUfrag(datagram) else { return flows[flow] }
        guard let id = ufrags[ufrag] else { return nil }
        bind(flow, to: id)
        return id
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
                return String(decoding: bytes[offset + 4..<end].prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
            }
            offset = end + (-length & 3)
        }
        return nil
    }
}
