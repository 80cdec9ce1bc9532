import Basics
import Cryptography
import Foundation

/// Makes tokens for a server in mode `token` (RFC 7519, HS256).
enum AccessToken {
    static func make(room: String, role: String = "participant", name: String? = nil, secret: String) -> String {
        var claims: [String: Any] = ["room": room, "role": role, "exp": Int(Date().timeIntervalSince1970) + 3600]
        if let name { claims["name"] = name }
        let payload = (try? JSONSerialization.data(withJSONObject: claims)) ?? Data()
        let text = Base64URL.encode(#"{"alg":"HS256","typ":"JWT"}"#.utf8) + "." + Base64URL.encode(payload)
        return text + "."
            + Base64URL.encode(HashFunction.sha256.authenticationCode(Array(text.utf8), key: Array(secret.utf8)))
    }
}
