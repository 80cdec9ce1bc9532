import Basics
import Testing

@Suite struct Base64URLTests {
    /// RFC 4648 §10 without padding, RFC 7515 appendix C, and the two letters of this alphabet.
    @Test(
        arguments: [
            ([], ""), (Array("f".utf8), "Zg"), (Array("fo".utf8), "Zm8"), (Array("foo".utf8), "Zm9v"),
            (Array("foob".utf8), "Zm9vYg"), (Array("fooba".utf8), "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy"),
            ([3, 236, 255, 224, 193], "A-z_4ME"), ([0xFB, 0xFF], "-_8"),
        ] as [([UInt8], String)])
    func `bytes and their text`(bytes: [UInt8], text: String) {
        #expect(Base64URL.encode(bytes) == text)
        #expect(Base64URL.decode(text) == bytes)
    }

    @Test(arguments: [
        "Zg==", "Zm8=", "Z", "Zm9vY", "Zh", "Zm9", "A+z/4ME", "Zm 8", "Zm8\n", ".", "Zm8\u{0}", "ｆ", "Zm9vé", "=",
        "-_9",
    ])
    func `padding, other letters, half bytes and unused bits are refused`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `each length comes back`() {
        for count in 0..<100 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }
}
