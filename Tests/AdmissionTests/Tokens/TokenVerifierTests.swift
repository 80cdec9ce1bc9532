import EndpointTestSupport
import Foundation
import Testing

@testable import Admission
@testable import WebServer

/// Claims that a portal signs, as this server reads them.
@Suite struct TokenVerifierTests {
    private static let secret = "the secret of the portal, of 32 bytes"
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func fault(
        _ claims: String, _ verifier: TokenVerifier = TokenVerifier(secret: secret)
    ) -> TokenVerifier.Fault? {
        do throws(TokenVerifier.Fault) {
            _ = try verifier.verify(signedToken(claims, secret: Self.secret), at: now)
            return nil
        } catch {
            return error
        }
    }

    /// RFC 7519 §4.1.4 and §4.1.5: valid from `nbf` on, and not at `exp` any more. Times may have fractions (§2).
    @Test func `a token is good from nbf until before exp`() {
        #expect(fault(#"{"room":"r","exp":1800000001}"#) == nil)
        #expect(fault(#"{"room":"r","exp":1800000000.5}"#) == nil)
        #expect(fault(#"{"room":"r","exp":1800000000}"#) == .claim("exp"))
        #expect(fault(#"{"room":"r","exp":1799999999}"#) == .claim("exp"))
        #expect(fault(#"{"room":"r"}"#) == .claim("exp"))
        #expect(fault(#"{"room":"r","exp":null}"#) == .claim("exp"))
        #expect(fault(#"{"room":"r","exp":2e9,"nbf":1800000000}"#) == nil)
        #expect(fault(#"{"room":"r","exp":2e9,"nbf":1800000001}"#) == .claim("nbf"))
    }

    @Test(arguments: [
        #"{"exp":2000000000}"#, #"{"room":7,"exp":2000000000}"#, #"{"room":"r","exp":"2000000000"}"#,
        #"{"room":"r","exp":1e999}"#, #"{"room":"r","exp":2000000000,"aud":7}"#,
        #"{"room":"r","exp":2000000000,"sub":{}}"#,
        #"{"room":"r","exp":2000000000,"iss":["a"]}"#, "[]", "7", "null", "", "{", #""room""#,
        // Which of the two counts, a reader cannot know (RFC 7519 §4).
        #"{"room":"a","room":"b","exp":2000000000}"#, #"{"room":"a","\u0072oom":"b","exp":2000000000}"#,
        // A token in a token (RFC 7519 §5.2).
        signedToken(#"{"room":"r","exp":2000000000}"#, secret: secret),
    ])
    func `claims of another form are none`(claims: String) {
        #expect(fault(claims) == .token(.claims))
    }

    @Test func `an unknown role is refused, and other claims do not matter`() {
        #expect(fault(#"{"room":"r","exp":2e9,"role":"king"}"#) == .claim("role"))
        #expect(fault(#"{"room":"r","exp":2e9,"role":"moderator","a:b":{"c":[":",{"d":1}]},"e":"\\\"{:"}"#) == nil)
    }

    @Test func `issuer and audience`() {
        let verifier = TokenVerifier(secret: Self.secret, issuer: "portal", audience: "tessera")
        #expect(fault(#"{"room":"r","exp":2e9,"iss":"portal","aud":"tessera"}"#, verifier) == nil)
        #expect(fault(#"{"room":"r","exp":2e9,"iss":"portal","aud":["x","tessera"]}"#, verifier) == nil)
        #expect(fault(#"{"room":"r","exp":2e9,"iss":"Portal","aud":"tessera"}"#, verifier) == .claim("iss"))
        #expect(fault(#"{"room":"r","exp":2e9,"aud":"tessera"}"#, verifier) == .claim("iss"))
        for audience in [#""tesser""#, #"["x"]"#, "[]", "null", #""""#] {
            let claims = #"{"room":"r","exp":2e9,"iss":"portal","aud":\#(audience)}"#
            #expect(fault(claims, verifier) == .claim("aud"), "\(audience)")
        }
        #expect(fault(#"{"room":"r","exp":2e9,"aud":[]}"#) == nil, "no audience is asked for")
    }

    @Test func `at most 8 KiB`() {
        let long = String(repeating: "x", count: 8192)
        #expect(fault(#"{"room":"r","exp":2e9,"name":"\#(long)"}"#) == .token(.form))
    }
}
