/// The fingerprints of a description's certificates (`a=fingerprint`, RFC 8122 §5): they identify an app's peer
/// connection in protocols that have no id of a client.
package struct DTLSFingerprints: Sendable, Hashable {
    /// `sha-256 12:AB:…`: the algorithm in lower case, the digits in upper case.
    package let values: Set<String>

    /// The most different fingerprints that are read: each hash function has one for each section.
    private static let limit = 16

    package init(of sdp: String) {
        var values: Set<String> = []
        for line in sdp.split(whereSeparator: \.isNewline) where values.count < Self.limit {
            guard line.lowercased().hasPrefix("a=fingerprint:") else { continue }
            let parts = line.dropFirst("a=fingerprint:".count).split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[1].utf8.count <= 256 else { continue }
            values.insert(parts[0].lowercased() + " " + parts[1].uppercased())
        }
        self.values = values
    }

    package var isEmpty: Bool { values.isEmpty }

    /// Whether both name a same certificate.
    package func matches(_ other: DTLSFingerprints) -> Bool { !values.isDisjoint(with: other.values) }
}
