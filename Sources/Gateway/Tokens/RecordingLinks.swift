import Cryptography
import Foundation

/// Links to a recording's file that work without a token until they expire.
struct RecordingLinks: Sendable {
    private let key: [UInt8]

    /// The default and the longest life of a link, in seconds. A link cannot be revoked alone: only a change of the
    /// tokens ends it earlier.
    static let defaultLife = 3600
    static let maxLife = 7 * 86_400
    /// The life of the links that a room's page gets: a long meeting can be watched, and parts of it again.
    static let meetingLife = 4 * 3600

    /// Derives the key from the tokens of the settings, so that links survive a restart and end when the tokens change.
    ///   Without tokens, links end with the process.
    init(adminToken: String, secret: String) {
        guard !adminToken.isEmpty || !secret.isEmpty else {
            key = randomBytes(32)
            return
        }
        let material = Array("\(adminToken.utf8.count):\(adminToken)\(secret)".utf8)
        key = KeyDerivation.hkdf(material, info: Array("tessera recording links".utf8), count: 32)
    }

    /// The path and query of a link.
    ///
    /// - Parameter expires: seconds since 1970.
    func path(of id: String, expires: Int) -> String {
        let name =
            id.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-_.")))
            ?? id
        return "/api/recordings/\(name)/file?expires=\(expires)&signature=\(signature(id, expires))"
    }

    /// Whether a request for `/api/recordings/{id}/file` has a valid signature that has not expired.
    func allow(_ link: Link, at now: Date) -> Bool {
        guard let signature = link.signature, let expires = link.expires.flatMap({ Int($0) }) else { return false }
        return isValid(signature, id: link.id, expires: expires, at: now)
    }

    /// The parts of a link in a request.
    struct Link {
        var id: String
        var expires: String?
        var signature: String?
    }

    func isValid(_ signature: String, id: String, expires: Int, at now: Date) -> Bool {
        Double(expires) > now.timeIntervalSince1970 && isEqual(signature, self.signature(id, expires))
    }

    private func signature(_ id: String, _ expires: Int) -> String {
        let code = HashFunction.sha256.authenticationCode(Array("\(expires)\n\(id)".utf8), key: key)
        return code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
