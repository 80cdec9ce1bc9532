import Testing

@testable import Peer

@Suite struct SDPFragmentTests {
    /// The example of RFC 9725 §4.3.2.
    private let trickle =
        "a=group:BUNDLE 0 1\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\n"
        + "a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0 ufrag EsAw network-id 1\r\na=end-of-candidates\r\n"

    @Test func `credentials, candidates and the end of them`() throws {
        let fragment = try SDPFragment(parsing: trickle)
        #expect(fragment.ufrag == "EsAw")
        #expect(fragment.password == "P2uYro0UCOQ4zxjKXaWCBui1")
        #expect(fragment.candidates.count == 1)
        #expect(fragment.candidates.first?.hasPrefix("candidate:1387637174 1 udp") == true)
        #expect(fragment.isComplete)
        #expect(fragment.mid == "0")
    }

    @Test(arguments: [
        "", "hello", "a=mid:0", "a=ice-ufrag:x", "a=ice-ufrag:EsAw\r\na=ice-pwd:short", "v=0\r\na=ice-ufrag:EsAw",
    ])
    func `invalid fragments are refused`(text: String) {
        #expect(throws: SDPError.self) { try SDPFragment(parsing: text) }
    }

    @Test func `too many candidates are refused`() {
        let text = String(repeating: "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n", count: 1000)
        #expect(throws: SDPError.self) { try SDPFragment(parsing: text) }
    }

    @Test func `a restart is answered in the client's section`() throws {
        let answer = try SDPFragment(parsing: trickle).answer(
            ufrag: "ours", password: "secret", candidates: ["candidate:1"])
        #expect(
            answer
                == "a=ice-lite\r\na=ice-ufrag:ours\r\na=ice-pwd:secret\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=candidate:1\r\na=end-of-candidates\r\n"
        )
    }
}
