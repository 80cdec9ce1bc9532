import Basics
import Cryptography
package import FoundationEssentials

/// Links to a recording's file that work without a token until they expire.
package struct RecordingLinks: Sendable {
    private let key: [UInt8]

    /// The default and the longest life of a link, in seconds. A link cannot be revoked alone: only a change of the
    /// tokens ends it earlier.
    package static let defaultLife = 3600
    package static let maxLife = 7 * 86_400
    /// The life of the keys by which hosts find their recordings after the call: most are watched within some weeks.
    package static let keyLife = 90 * 86_400
    /// The life of the links that a room's page gets: a long meeting can be watched, and parts of it again.
    package static let meetingLife = 4 * 3600

    /// Derives the key from the tokens of the settings, so that links survive a restart and end when the tokens change.
    ///
    /// - Parameter other: a secret that is used where there are no tokens; without it links end with the process then.
    package init(adminToken: String, secret: String, other: [UInt8]? = nil) {
        let hasTokens = !adminToken.isEmpty || !secret.isEmpty
        guard hasTokens || other != nil else {
            key = randomBytes(32)
            return
        }
        let material = hasTokens ? Array("\(adminToken.utf8.count):\(adminToken)\(secret)".utf8) : other ?? []
        key = KeyDerivation.hkdf(material, info: Array("tessera recording links".utf8), count: 32)
    }

    /// The path and query of a link.
    ///
    /// - Parameter expires: seconds since 1970.
    package func path(of id: String, expires: Int) -> String {
        return
            "/api/recordings/\(id.percentEncoded(keeping: "-_."))/file?expires=\(expires)&signature=\(signature(id, expires))"
    }

    /// Whether a request for `/api/recordings/{id}/file` has a valid signature that has not expired.
    package func allow(_ link: Link, at now: Date) -> Bool {
        guard let signature = link.signature, let expires = link.expires.flatMap({ Int($0) }) else { return false }
        return isValid(signature, id: link.id, expires: expires, at: now)
    }

    /// The parts of a link in a request.
    package struct Link {
        package var id: String
        package var expires: String?
        package var signature: String?
    }

    package func isValid(_ signature: String, id: String, expires: Int, at now: Date) -> Bool {
        Double(expires) > now.timeIntervalSince1970 && isEqual(signature, self.signature(id, expires))
    }

    // MARK: - Keys

    /// What a host of the recorded meeting keeps (`Authorization: Bearer recording.EXPIRES.SIGNATURE`): the right to read,
    /// rename, share and remove this one recording.
    package func key(of id: String, expires: Int) -> String {
        let signature = signature(Self.keyed(id), expires)
        return "\(Self.keyMark).\(expires).\(signature)"
    }

    /// Whether a bearer is the key of this recording, and has not expired.
    func isKey(_ bearer: String?, of id: String, at now: Date) -> Bool {
        let parts = bearer?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, parts[0] == Self.keyMark, let expires = Int(parts[1]) else { return false }
        return Double(expires) > now.timeIntervalSince1970
            && isEqual(String(parts[2]), signature(Self.keyed(id), expires))
    }

    private static let keyMark = "recording"
    /// No id has a line break: the signature of a link is no key.
    private static func keyed(_ id: String) -> String { "\(keyMark)\n\(id)" }

    private func signature(_ id: String, _ expires: Int) -> String {
        Hexadecimal.encode(HashFunction.sha256.authenticationCode(Array("\(expires)\n\(id)".utf8), key: key))
    }
}
