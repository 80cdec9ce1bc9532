import Testing

@testable import Cryptography

@Suite struct HashFunctionTests {
    /// FIPS 180-4's examples, and the empty text.
    @Test(arguments: [
        (HashFunction.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            .sha256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `a text has its digest`(function: HashFunction, text: String, digest: String) {
        #expect(function.digest(Array(text.utf8)) == hex(digest))
    }

    /// RFC 4231 §4.2–4.4 and §4.7: a key, a short one, one of 0xAA, and one longer than a block.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        // Without key and text, as Python's hmac has it.
        ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ])
    func `HMAC-SHA256`(key: [UInt8], text: String, code: String) {
        #expect(HashFunction.sha256.authenticationCode(Array(text.utf8), key: key) == hex(code))
        #expect(HashFunction.sha256.isAuthenticationCode(hex(code), of: Array(text.utf8), key: key))
        for other in [[], Array(hex(code).dropLast()), hex(code) + [0], hex("00" + code.dropFirst(2))] {
            #expect(!HashFunction.sha256.isAuthenticationCode(other, of: Array(text.utf8), key: key))
        }
    }

    /// RFC 2202 §3, test cases 1 and 2.
    @Test func `HMAC-SHA1`() {
        let key = [UInt8](repeating: 0x0B, count: 20)
        #expect(
            HashFunction.sha1.authenticationCode(Array("Hi There".utf8), key: key)
                == hex("b617318655057264e28bc0b6fb378c8ef146be00"))
        #expect(
            HashFunction.sha1.authenticationCode(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
                == hex("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"))
    }

    @Test func `isEqual compares whole texts and bytes`() {
        #expect(isEqual("abc", "abc") && isEqual([1, 2], [1, 2]) && isEqual([], [UInt8]()))
        #expect(!isEqual("abc", "abd") && !isEqual([1, 2], [1, 3]) && !isEqual([1, 2], [3, 2]))
        #expect(!isEqual("abc", "ab") && !isEqual([1, 2], [1]))
        #expect(!isEqual("", "a") && !isEqual([], [1]))
        #expect(!isEqual("abab", "ab"))
    }

    @Test func `random bytes are as many as asked for, and not the same twice`() {
        #expect(randomBytes(0) == [])
        let (first, second) = (randomBytes(32), randomBytes(32))
        #expect(first.count == 32 && first != second)
    }
}
