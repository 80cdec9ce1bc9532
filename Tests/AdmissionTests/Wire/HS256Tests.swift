import Basics
import Cryptography
import EndpointTestSupport
import Testing

@testable import Admission
@testable import WebServer

@Suite struct HS256Tests {
    private static let secret = "the secret of the portal, of 32 bytes"
    private static let claims = #"{"room":"r"}"#
    private let signature = HS256(secret: secret)

    private func fault(_ token: String) -> HS256.Fault? {
        do throws(HS256.Fault) {
            _ = try signature.claims(in: token, maxBytes: 8192)
            return nil
        } catch {
            return error
        }
    }

    private func signed(header: String, _ claims: String = claims) -> String {
        signedToken(claims, header: header, secret: Self.secret)
    }

    /// RFC 7515 appendix A.1.
    @Test func `the example of RFC 7515`() throws {
        let key = try #require(
            Base64URL.decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"))
        let token =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
            + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
            + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let claims = try HS256(key: key).claims(in: token, maxBytes: 1024)
        #expect(
            String(decoding: claims, as: UTF8.self)
                == "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}")
        #expect(throws: HS256.Fault.signature) { try HS256(key: key.reversed()).claims(in: token, maxBytes: 1024) }
        #expect(throws: HS256.Fault.form) { try HS256(key: key).claims(in: token, maxBytes: token.utf8.count - 1) }
    }

    @Test func `what is signed here is read here`() throws {
        let token = signature.token(Array(Self.claims.utf8))
        #expect(try signature.claims(in: token, maxBytes: token.utf8.count) == Array(Self.claims.utf8))
        #expect(HS256.unverifiedClaims(in: token, maxBytes: 8192) == Array(Self.claims.utf8))
        #expect(fault(signed(header: #"{"kid":"1","typ":"at+jwt","alg":"HS256"}"#)) == nil, "other headers of portals")
    }

    /// RFC 8725 §3.1, §3.2 and §3.11, RFC 7515 §4 and §4.1.11, each signed well.
    @Test(arguments: [
        #"{"alg":"none"}"#, #"{"alg":"None"}"#, #"{"alg":"HS512"}"#, #"{"alg":"RS256"}"#, #"{"alg":"hs256"}"#,
        #"{"alg":["HS256"]}"#, #"{"alg":null}"#, #"{"typ":"JWT"}"#, "{}", "[]", "", "7", "{", #""HS256""#,
        #"{"alg":"HS256","crit":["exp"],"exp":1}"#, #"{"alg":"HS256","crit":[]}"#, #"{"alg":"HS256","crit":null}"#,
        #"{"alg":"HS256","b64":false,"crit":["b64"]}"#, #"{"alg":"HS256","alg":"HS256"}"#,
        #"{"alg":"none","alg":"HS256"}"#, #"{"alg":"HS256","\u0061lg":"none"}"#, #"{"alg":"HS256"}}"#,
    ])
    func `no other header is taken`(header: String) {
        #expect(fault(signed(header: header)) == .header)
    }

    @Test func `an unsigned or changed token is refused before it is read`() {
        let token = signed(header: #"{"alg":"HS256"}"#)
        let parts = token.split(separator: ".").map(String.init)
        let none = Base64URL.encode(#"{"alg":"none"}"#.utf8)
        for forged in [
            "\(parts[0]).\(parts[1]).", "\(none).\(parts[1]).", "\(none).\(parts[1]).\(parts[2])",
            "\(parts[0]).\(Base64URL.encode(#"{"room":"s"}"#.utf8)).\(parts[2])", "\(parts[0])..\(parts[2])",
            "..", "\(parts[0]).\(parts[1]).\(parts[2].dropLast(3))",
            "\(parts[0]).\(parts[1]).\(Base64URL.encode([UInt8](repeating: 0, count: 32)))",
            signedToken(Self.claims, secret: "another secret of 32 bytes, or so"),
            signedToken(Self.claims, secret: ""), String(repeating: "[", count: 4000) + "..",
        ] {
            #expect(fault(forged) == .signature, "\(forged.prefix(120))")
        }
    }

    /// RFC 7515 §2 and §7.1; five parts are a JWE (RFC 7516 §7.1).
    @Test func `three parts of base64url, and nothing else`() {
        let token = signature.token(Array(Self.claims.utf8))
        // The last letter has two bits that say nothing, and must be zero: each token has one text.
        let last = token.utf8.last.map { String(UnicodeScalar($0 + 1)) } ?? ""
        for other in [
            "", "a", "a.b", token + ".", "." + token, token + "..", token + "=", token + "\n", token + " ",
            token.dropLast() + last,
            signed(header: #"{"alg":"HS256"}"#) + "+", String(repeating: ".", count: 8000),
            String(repeating: "a", count: 10_000),
        ] {
            #expect(fault(other) == .form, "\(other.prefix(120))")
        }
        // Padding within signed parts.
        let padded = "eyJhbGciOiJIUzI1NiJ9." + "e30="
        let code = HashFunction.sha256.authenticationCode(Array(padded.utf8), key: Array(Self.secret.utf8))
        #expect(fault(padded + "." + Base64URL.encode(code)) == .form)
    }

    @Test func `claims are one JSON object of unique names`() {
        for claims in ["[]", "7", "", "{", #"{"a":1,"a":1}"#, #"{"a":{"b":1},"a":2}"#, #"{"a":1} {"b":2}"#] {
            #expect(fault(signed(header: #"{"alg":"HS256"}"#, claims)) == .claims, "\(claims)")
        }
        for claims in ["{}", #"{"a":{"x":1,"y":2},"b":[{"a":1},":{"],"c":"\\","d":"\\\":"}"#] {
            #expect(fault(signed(header: #"{"alg":"HS256"}"#, claims)) == nil, "\(claims)")
        }
    }
}
