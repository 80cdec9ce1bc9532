/// A whole session description (RFC 8866) as WebRTC uses it (RFC 8829).
///
/// Parsing and printing keep the meaning, not the order of lines: attributes that apply to every section are printed in
/// each.
public struct SessionDescription: Hashable, Sendable {
    /// `o=` (RFC 8866 §5.2). The id stays for the life of a session, the version grows with each description.
    struct Origin: Hashable, Sendable {
        var username: String
        var sessionID: String
        var version: UInt64
        var address: String

        init(username: String = "-", sessionID: String, version: UInt64, address: String = "IN IP4 127.0.0.1") {
            self.username = username
            self.sessionID = sessionID
            self.version = version
            self.address = address
        }
    }

    var origin: Origin
    var name = "-"
    /// `c=` of all sections that have none of their own, in a description of ours.
    var connection: String?
    /// The mids of each `a=group:BUNDLE`.
    var bundles: [[String]] = []
    /// `a=ice-lite`: session level only (RFC 8839 §5.3).
    var isIceLite = false
    var extmapAllowMixed = false
    var msidSemantic: String?
    /// Every other session attribute, in its order.
    var attributes: [SDPAttribute] = []
    var media: [MediaDescription] = []

    init(origin: Origin) {
        self.origin = origin
    }
}

extension SessionDescription {
    /// The fingerprints of all sections that are not rejected.
    var fingerprints: Set<Fingerprint> { Set(media.lazy.flatMap(\.fingerprints)) }

    /// The ICE credentials of the first section that has them; bundled sections share one path.
    var iceCredentials: ICECredentials? {
        media.lazy.compactMap { section in
            section.iceUfrag.flatMap { ufrag in section.icePassword.map { ICECredentials(ufrag: ufrag, password: $0) } }
        }.first
    }

    var iceUfrag: String? { iceCredentials?.ufrag }
    var icePassword: String? { iceCredentials?.password }

    /// Whether it comes from another connection than `previous`, such as that of a reloaded page: both name
    /// certificates, and none is the same.
    func isOfOtherConnection(than previous: SessionDescription) -> Bool {
        let (old, new) = (previous.fingerprints, fingerprints)
        return !old.isEmpty && !new.isEmpty && old.isDisjoint(with: new)
    }
}

extension SessionDescription: CustomStringConvertible {
    /// The description as text, lines ending in CRLF.
    public var description: String {
        var lines = [
            "v=0", "o=\(origin.username) \(origin.sessionID) \(origin.version) \(origin.address)", "s=\(name)",
        ]
        if let connection { lines.append("c=\(connection)") }
        lines.append("t=0 0")
        if isIceLite { lines.append("a=ice-lite") }
        lines += bundles.map { (["a=group:BUNDLE"] + $0).joined(separator: " ") }
        if extmapAllowMixed { lines.append("a=extmap-allow-mixed") }
        if let msidSemantic { lines.append("a=msid-semantic:\(msidSemantic)") }
        lines += attributes.map { "a=\($0)" }
        return lines.map { $0 + "\r\n" }.joined() + media.map(\.description).joined()
    }
}
