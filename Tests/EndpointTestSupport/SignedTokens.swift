package import Admission
import Basics
import Cryptography
import Foundation

/// A token with any header and claims, signed with HMAC-SHA256 as RFC 7515 §5.1 has it.
package func signedToken(_ claims: String, header: String = #"{"alg":"HS256","typ":"JWT"}"#, secret: String) -> String {
    let body = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
    let code = HashFunction.sha256.authenticationCode(Array(body.utf8), key: Array(secret.utf8))
    return body + "." + Base64URL.encode(code)
}

extension TokenClaims {
    /// A portal's token with these claims.
    package func signed(_ secret: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        return signedToken(String(decoding: try encoder.encode(self), as: UTF8.self), secret: secret)
    }
}
