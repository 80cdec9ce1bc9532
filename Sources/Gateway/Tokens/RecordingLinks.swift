import Crypto
import Foundation

/// Links to a recording's file that work without a token until their time is over.
struct RecordingLinks: Sendable {
    private let key: SymmetricKey

    /// How long a link lives if nobody says otherwise, and at most. It cannot be taken back before: only another token
    /// ends it.
    static let defaultLife = 3600
    static let maxLife = 7 * 86_400

    /// - Parameters: the tokens of the settings; the key follows from them, so that links outlive a restart and end
    ///   with the tokens. Without any, links end with the process.
    init(adminToken: String, secret: String) {
        guard !adminToken.isEmpty || !secret.isEmpty else {
            key = SymmetricKey(size: .bits256)
            return
        }
        let material = SymmetricKey(data: Data("\(adminToken.utf8.count):\(adminToken)\(secret)".utf8))
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: material, info: Data("tessera recording links".utf8), outputByteCount: 32)
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

    /// Whether a request for `/api/recordings/{id}/file` has a signature of ours that still holds.
    func allow(_ link: Link, at now: Date) -> Bool {
        guard let signature = link.signature, let expires = link.expires.flatMap({ Int($0) }) else { return false }
        return isValid(signature, id: link.id, expires: expires, at: now)
    }

    /// What a request shows of a link.
    struct Link {
        var id: String
        var expires: String?
        var signature: String?
    }

    func isValid(_ signature: String, id: String, expires: Int, at now: Date) -> Bool {
        Double(expires) > now.timeIntervalSince1970 && isEqual(signature, self.signature(id, expires))
    }

    private func signature(_ id: String, _ expires: Int) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Data("\(expires)\n\(id)".utf8), using: key)
        return code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
