import COpenSSL
import Foundation

/// Makes tokens for a server in mode `token` (RFC 7519, HS256).
enum AccessToken {
    static func make(room: String, role: String = "participant", name: String? = nil, secret: String) -> String {
        var claims: [String: Any] = ["room": room, "role": role, "exp": Int(Date().timeIntervalSince1970) + 3600]
        if let name { claims["name"] = name }
        let payload = (try? JSONSerialization.data(withJSONObject: claims)) ?? Data()
        let text = encode(Data(#"{"alg":"HS256","typ":"JWT"}"#.utf8)) + "." + encode(payload)
        var digest = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        let key = Array(secret.utf8), bytes = Array(text.utf8)
        _ = HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, &digest, &length)
        return text + "." + encode(Data(digest))
    }

    private static func encode(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
