public import Basics

/// An address at which an endpoint may be reached (RFC 8839 §5.1, RFC 6544 §4.5).
public struct Candidate: Hashable, Sendable, CustomStringConvertible {
    /// How the address was learnt (RFC 8445 §5.1.1).
    public enum Kind: String, Sendable {
        /// An interface's own address; one that a STUN server saw; one that a check came from; one at a TURN server.
        case host, serverReflexive = "srflx", peerReflexive = "prflx", relayed = "relay"
    }
    /// Which end opens the connection (RFC 6544 §4.5).
    public enum TCPType: String, Sendable {
        /// The endpoint connects; it listens; it does both.
        case active, passive, simultaneousOpen = "so"
    }
    /// A name and a value after the fixed fields of a candidate (RFC 8839 §5.1): `generation 0`.
    public struct Extension: Hashable, Sendable {
        /// The name: a token.
        public var name: String
        /// The value: a token.
        public var value: String

        /// Makes an extension of a name and a value.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The same for candidates that share kind, base and server (RFC 8445 §5.1.1.3).
    public var foundation: String
    /// 1 for RTP (with RTCP multiplexed), 2 for RTCP without multiplexing.
    public var component: Int
    /// UDP or TCP.
    public var transport: Flow.Transport
    /// The higher, the better (RFC 8445 §5.1.2).
    public var priority: UInt32
    /// An IP address, or an mDNS name (`….local`), which can be resolved only in the peer's own network.
    public var address: String
    /// 9 for an active TCP candidate.
    public var port: UInt16
    /// How the address was learnt.
    public var kind: Kind
    /// The base or server that a candidate of another kind than `host` came from (`raddr`, `rport`).
    public var related: (address: String, port: UInt16)? {
        get { relatedAddress.map { ($0, relatedPort) } }
        set {
            relatedAddress = newValue?.address
            relatedPort = newValue?.port ?? 0
        }
    }
    /// The TCP type; nil for UDP.
    public var tcpType: TCPType?
    /// The extensions, in their order.
    public var extensions: [Extension]
    private var relatedAddress: String?
    private var relatedPort: UInt16 = 0

    /// Makes a candidate from its parts; `Candidate.host` makes one of ours.
    public init(
        foundation: String, component: Int = 1, transport: Flow.Transport, priority: UInt32, address: String,
        port: UInt16,
        kind: Kind = .host, tcpType: TCPType? = nil, extensions: [Extension] = []
    ) {
        self.foundation = foundation
        self.component = component
        self.transport = transport
        self.priority = priority
        self.address = address
        self.port = port
        self.kind = kind
        self.tcpType = tcpType
        self.extensions = extensions
    }

    /// A host candidate of ours. `preference` is 0 for the best address, 1 for the next (RFC 8445 §5.1.2.1).
    public static func host(_ address: SocketAddress, transport: Flow.Transport = .udp, preference: Int = 0)
        -> Candidate
    {
        // The type preference is 126 for UDP and 90 for TCP, so that TCP is used only where UDP fails (RFC 6544 §4.2).
        let type: UInt32 = transport == .udp ? 126 : 90
        let local = UInt32(max(0, min(65_535, 65_535 - preference)))
        return Candidate(
            foundation: "\(transport == .udp ? 1 : 2)\(preference)", transport: transport,
            priority: type << 24 | local << 8 | 255, address: "\(address.ip)", port: address.port,
            tcpType: transport == .tcp ? .passive : nil)
    }

    /// More words than any candidate line has: eight, and name and value of each extension.
    private static let maximumParts = 64

    /// The transport address, if the address is an IP address.
    public var socketAddress: SocketAddress? { IPAddress(address).map { SocketAddress($0, port: port) } }

    /// Parses `candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host`, with or without `a=` and `candidate:` before it.
    public init?(parsing text: some StringProtocol) {
        var text = Substring(text)
        if text.hasPrefix("a=") { text = text.dropFirst(2) }
        if text.hasPrefix("candidate:") { text = text.dropFirst(10) }
        let parts = text.parts(maximum: Self.maximumParts + 1)
        guard parts.count >= 8, parts.count <= Self.maximumParts, parts[6] == "typ", let component = Int(parts[1]),
            (1...256).contains(component),
            let priority = UInt32(parts[3]), let port = UInt16(parts[5]),
            let kind = Kind(rawValue: parts[7].lowercased())
        else { return nil }
        switch parts[2].lowercased() {
        case "udp": transport = .udp
        case "tcp": transport = .tcp
        default: return nil
        }
        foundation = String(parts[0])
        self.component = component
        self.priority = priority
        address = String(parts[4])
        self.port = port
        self.kind = kind
        extensions = []
        var index = 8
        while index + 1 < parts.count {
            let value = String(parts[index + 1])
            switch parts[index] {
            case "raddr": relatedAddress = value
            case "rport": relatedPort = UInt16(value) ?? 0
            case "tcptype": tcpType = TCPType(rawValue: value.lowercased())
            default: extensions.append(Extension(name: String(parts[index]), value: value))
            }
            index += 2
        }
    }

    /// `candidate:…`, the value of an attribute line and of trickled candidates.
    public var description: String {
        var text =
            "candidate:\(foundation) \(component) \(transport) \(priority) \(address) \(port) typ \(kind.rawValue)"
        if let related { text += " raddr \(related.address) rport \(related.port)" }
        if let tcpType { text += " tcptype \(tcpType.rawValue)" }
        for item in extensions { text += " \(item.name) \(item.value)" }
        return text
    }
}
