import Basics

/// The direction of media, seen from the end that wrote the description (RFC 8866 §6.7).
public enum Direction: String, Hashable, Sendable, CaseIterable {
    /// Media flows both ways.
    case sendReceive = "sendrecv"
    /// Only the writer sends.
    case sendOnly = "sendonly"
    /// Only the writer receives.
    case receiveOnly = "recvonly"
    /// Media flows neither way.
    case inactive

    /// The direction with these two properties.
    public init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendReceive : .sendOnly) : (receives ? .receiveOnly : .inactive)
    }

    /// Whether the writer sends.
    public var sends: Bool { self == .sendReceive || self == .sendOnly }
    /// Whether the writer receives.
    public var receives: Bool { self == .sendReceive || self == .receiveOnly }
    /// The same flow seen from the other end.
    public var mirrored: Direction { Direction(sends: receives, receives: sends) }
    /// The directions that both allow.
    public func intersection(_ other: Direction) -> Direction {
        Direction(sends: sends && other.sends, receives: receives && other.receives)
    }
}

/// `a=setup` (RFC 4145 §4, RFC 8842): which end opens the DTLS association.
enum SetupRole: String, Hashable, Sendable {
    case active, passive, actpass, holdconn
}

/// An attribute without a field of its own: `a=name` or `a=name:value`.
struct SDPAttribute: Hashable, Sendable, CustomStringConvertible {
    var name: String
    var value: String?

    init(_ name: String, _ value: String? = nil) {
        self.name = name
        self.value = value
    }

    var description: String { value.map { "\(name):\($0)" } ?? name }
}

/// The parameters of an `a=fmtp` line in their order; names are case-insensitive.
package struct FormatParameters: Hashable, Sendable, CustomStringConvertible {
    package struct Entry: Hashable, Sendable {
        var name: String
        var value: String?
    }

    package var entries: [Entry]

    /// Parses `a=1;b=2`; a part without `=` (`0-15`, `111/111`) becomes a name without value. Parameters after the 64th
    /// are ignored.
    package init(parsing text: some StringProtocol) {
        entries = Substring(text).parts(";", maximum: SDPLimits.parameters + 1).prefix(SDPLimits.parameters).compactMap
        { part in
            let part = part.trimmingSpaces()
            guard !part.isEmpty else { return nil }
            guard let (name, value) = part.divided(at: "=") else { return Entry(name: String(part), value: nil) }
            return name.isEmpty ? nil : Entry(name: String(name), value: String(value))
        }
    }

    /// Makes a list without parameters.
    package init() {
        entries = []
    }

    /// The value of a parameter by its name in lower case.
    package subscript(_ name: String) -> String? {
        entries.first { $0.name.equals(lowercase: name) }?.value
    }

    package func integer(_ name: String) -> Int? { self[name].flatMap { Int($0) } }

    package var description: String {
        entries.map { entry in entry.value.map { "\(entry.name)=\($0)" } ?? entry.name }.joined(separator: ";")
    }
}

/// One payload type of a section: its rtpmap, fmtp and rtcp-fb attributes.
struct CodecDescription: Hashable, Sendable {
    var payloadType: UInt8
    /// As written; compare with `isNamed`.
    var name: String
    var clockRate: Int
    /// Nil if the rtpmap line has none.
    var channels: Int?
    var parameters: FormatParameters
    /// The values of the `a=rtcp-fb` lines of this payload type: `nack pli`.
    var feedback: [String]

    init(
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

    /// Encoding names are case-insensitive (RFC 8866 §6.6): GStreamer writes `OPUS`. `other` is in lower case.
    func isNamed(_ other: String) -> Bool { name.equals(lowercase: other) }
}

/// `a=extmap` (RFC 8285 §5).
struct ExtensionMapping: Hashable, Sendable {
    var id: UInt8
    var direction: Direction?
    var uri: String
    var attributes: String?

    init(id: UInt8, direction: Direction? = nil, uri: String, attributes: String? = nil) {
        self.id = id
        self.direction = direction
        self.uri = uri
        self.attributes = attributes
    }
}

/// All `a=ssrc` lines of one SSRC (RFC 5576 §4.1).
struct SSRCDescription: Hashable, Sendable {
    var ssrc: SSRC
    var attributes: [SDPAttribute]

    init(ssrc: SSRC, attributes: [SDPAttribute]) {
        self.ssrc = ssrc
        self.attributes = attributes
    }

    var cname: String? { attributes.first { $0.name == "cname" }?.value }
    var msid: MediaStreamID? {
        attributes.first { $0.name == "msid" }?.value.flatMap { MediaStreamID(parsing: $0) }
    }
}

/// `a=ssrc-group` (RFC 5576 §4.2): `FID media rtx`.
struct SSRCGroup: Hashable, Sendable {
    var semantics: String
    var ssrcs: [SSRC]

    init(semantics: String, ssrcs: [SSRC]) {
        self.semantics = semantics
        self.ssrcs = ssrcs
    }
}

/// `a=msid` (RFC 8830): the stream and the track of a section.
struct MediaStreamID: Hashable, Sendable, CustomStringConvertible {
    var stream: String
    var track: String?

    init(stream: String, track: String?) {
        self.stream = stream
        self.track = track
    }

    init?(parsing text: some StringProtocol) {
        let parts = Substring(text).parts(maximum: 3)
        guard let stream = parts.first else { return nil }
        self.init(stream: String(stream), track: parts.count > 1 ? String(parts[1]) : nil)
    }

    var description: String { track.map { "\(stream) \($0)" } ?? stream }
}

/// `a=rid` (RFC 8851): one encoding of a simulcast section.
struct RestrictionID: Hashable, Sendable {
    var id: String
    /// `send` or `recv`.
    var sends: Bool
    var restrictions: String?

    init(id: String, sends: Bool, restrictions: String? = nil) {
        self.id = id
        self.sends = sends
        self.restrictions = restrictions
    }
}

/// `a=simulcast` (RFC 8853): encodings in order of preference, each with its alternatives; `~` (paused) is kept in the
/// text.
struct SimulcastDescription: Hashable, Sendable {
    var send: [[String]]
    var receive: [[String]]

    init(send: [[String]] = [], receive: [[String]] = []) {
        self.send = send
        self.receive = receive
    }
}

/// A `b=` line (RFC 8866 §5.8): `AS` in kbit/s, `TIAS` in bit/s.
struct BandwidthLine: Hashable, Sendable {
    var type: String
    var value: Int

    init(type: String, value: Int) {
        self.type = type
        self.value = value
    }
}
