import Basics

/// Which way media flows, seen from the end that wrote the description (RFC 8866 §6.7).
public enum Direction: String, Hashable, Sendable, CaseIterable {
    case sendReceive = "sendrecv"
    case sendOnly = "sendonly"
    case receiveOnly = "recvonly"
    case inactive

    public init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendReceive : .sendOnly) : (receives ? .receiveOnly : .inactive)
    }

    public var sends: Bool { self == .sendReceive || self == .sendOnly }
    public var receives: Bool { self == .sendReceive || self == .receiveOnly }
    /// The same flow seen from the other end.
    public var mirrored: Direction { Direction(sends: receives, receives: sends) }
    /// What both allow.
    public func intersection(_ other: Direction) -> Direction {
        Direction(sends: sends && other.sends, receives: receives && other.receives)
    }
}

/// `a=setup` (RFC 4145 §4, RFC 8842): who opens the DTLS association.
public enum SetupRole: String, Hashable, Sendable {
    case active, passive, actpass, holdconn
}

/// An attribute line that has no field of its own: `a=name` or `a=name:value`.
public struct SDPAttribute: Hashable, Sendable, CustomStringConvertible {
    public var name: String
    public var value: String?

    public init(_ name: String, _ value: String? = nil) {
        self.name = name
        self.value = value
    }

    public var description: String { value.map { "\(name):\($0)" } ?? name }
}

/// The parameters of an `a=fmtp` line in their order; names compare without case.
public struct FormatParameters: Hashable, Sendable, CustomStringConvertible {
    public struct Entry: Hashable, Sendable {
        public var name: String
        public var value: String?
    }

    public var entries: [Entry]

    /// Reads `a=1;b=2`; a part without `=` (`0-15`, `111/111`) becomes a name without value. What is beyond 64 parameters is ignored.
    public init(parsing text: some StringProtocol) {
        entries = Substring(text).parts(";", maximum: SDPLimits.parameters + 1).prefix(SDPLimits.parameters).compactMap { part in
            let part = part.trimmingSpaces()
            guard !part.isEmpty else { return nil }
            guard let (name, value) = part.divided(at: "=") else { return Entry(name: String(part), value: nil) }
            return name.isEmpty ? nil : Entry(name: String(name), value: String(value))
        }
    }

    /// No parameters.
    public init() {
        entries = []
    }

    /// The value of a parameter by its name in lower case.
    public subscript(_ name: String) -> String? {
        entries.first { $0.name.equals(lowercase: name) }?.value
    }

    public func integer(_ name: String) -> Int? { self[name].flatMap { Int($0) } }

    public var description: String {
        entries.map { entry in entry.value.map { "\(entry.name)=\($0)" } ?? entry.name }.joined(separator: ";")
    }
}

/// One payload type of a section: rtpmap, fmtp and rtcp-fb together.
public struct CodecDescription: Hashable, Sendable {
    public var payloadType: UInt8
    /// As written; compare with `isNamed`.
    public var name: String
    public var clockRate: Int
    /// Nil where the rtpmap line has none.
    public var channels: Int?
    public var parameters: FormatParameters
    /// The values of the `a=rtcp-fb` lines of this payload type: `nack pli`.
    public var feedback: [String]

    public init(
        payloadType: UInt8, name: String, clockRate: Int, channels: Int? = nil,
        parameters: FormatParameters = FormatParameters(), feedback: [String] = []
    ) {
        self.payloadType = payloadType
        self.name = name
        self.clockRate = clockRate
        self.channels = channels
        self.parameters = parameters
        self.feedback = feedback
    }

    /// Encoding names compare without case (RFC 8866 §6.6): GStreamer writes `OPUS`. `other` is in lower case.
    public func isNamed(_ other: String) -> Bool { name.equals(lowercase: other) }
}

/// `a=extmap` (RFC 8285 §5).
public struct ExtensionMapping: Hashable, Sendable {
    public var id: UInt8
    public var direction: Direction?
    public var uri: String
    public var attributes: String?

    public init(id: UInt8, direction: Direction? = nil, uri: String, attributes: String? = nil) {
        self.id = id
        self.direction = direction
        self.uri = uri
        self.attributes = attributes
    }
}

/// All `a=ssrc` lines of one SSRC (RFC 5576 §4.1).
public struct SSRCDescription: Hashable, Sendable {
    public var ssrc: SSRC
    public var attributes: [SDPAttribute]

    public init(ssrc: SSRC, attributes: [SDPAttribute]) {
        self.ssrc = ssrc
        self.attributes = attributes
    }

    public var cname: String? { attributes.first { $0.name == "cname" }?.value }
    public var msid: MediaStreamID? {
        attributes.first { $0.name == "msid" }?.value.flatMap { MediaStreamID(parsing: $0) }
    }
}

/// `a=ssrc-group` (RFC 5576 §4.2): `FID media rtx`.
public struct SSRCGroup: Hashable, Sendable {
    public var semantics: String
    public var ssrcs: [SSRC]

    public init(semantics: String, ssrcs: [SSRC]) {
        self.semantics = semantics
        self.ssrcs = ssrcs
    }
}

/// `a=msid` (RFC 8830): the stream and the track that a section carries.
public struct MediaStreamID: Hashable, Sendable, CustomStringConvertible {
    public var stream: String
    public var track: String?

    public init(stream: String, track: String?) {
        self.stream = stream
        self.track = track
    }

    public init?(parsing text: some StringProtocol) {
        let parts = Substring(text).parts(maximum: 3)
        guard let stream = parts.first else { return nil }
        self.init(stream: String(stream), track: parts.count > 1 ? String(parts[1]) : nil)
    }

    public var description: String { track.map { "\(stream) \($0)" } ?? stream }
}

/// `a=rid` (RFC 8851): one encoding of a simulcast section.
public struct RestrictionID: Hashable, Sendable {
    public var id: String
    /// `send` or `recv`.
    public var sends: Bool
    public var restrictions: String?

    public init(id: String, sends: Bool, restrictions: String? = nil) {
        self.id = id
        self.sends = sends
        self.restrictions = restrictions
    }
}

/// `a=simulcast` (RFC 8853): encodings in order of preference, each with its alternatives; `~` (paused) is kept in the text.
public struct SimulcastDescription: Hashable, Sendable {
    public var send: [[String]]
    public var receive: [[String]]

    public init(send: [[String]] = [], receive: [[String]] = []) {
        self.send = send
        self.receive = receive
    }
}

/// A `b=` line (RFC 8866 §5.8): `AS` in kbit/s, `TIAS` in bit/s.
public struct BandwidthLine: Hashable, Sendable {
    public var type: String
    public var value: Int

    public init(type: String, value: Int) {
        self.type = type
        self.value = value
    }
}
