import Testing

@testable import Cryptography

@Suite struct AuthenticatedCipherTests {
    /// The GCM specification's test cases 13 to 16, for keys of 256 bits (McGrew and Viega, appendix B).
    @Test func `AES-256-GCM`() throws {
        let zero = AuthenticatedCipher(key: [UInt8](repeating: 0, count: 32))
        let nonce = [UInt8](repeating: 0, count: 12)
        #expect(
            try zero.seal([], context: [], nonce: nonce) == nonce + hex("530f8afbc74536b9a963b4f1c4cb738b"))
        #expect(
            try zero.seal([UInt8](repeating: 0, count: 16), context: [], nonce: nonce)
                == nonce + hex("cea7403d4d606b6e074ec5d3baf39d18 d0d1c8a799996bf0265b98b5d48ab919"))
        let cipher = AuthenticatedCipher(
            key: hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let text = hex(
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
            1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """)
        let context = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let sealed = hex(
            """
            cafebabefacedbaddecaf888
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
            8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
            76fc6ece0f4e1768cddf8853bb2d551b
            """)
        #expect(try cipher.seal(text, context: context, nonce: hex("cafebabefacedbaddecaf888")) == sealed)
        #expect(try cipher.open(sealed, context: context) == text)
    }

    @Test func `what is changed, cut, of another context or key does not open`() throws {
        let cipher = AuthenticatedCipher(key: randomBytes(32))
        let sealed = try cipher.seal([1, 2, 3], context: [7])
        #expect(try cipher.open(sealed, context: [7]) == [1, 2, 3])
        #expect(try cipher.open(sealed, context: [8]) == nil && cipher.open(sealed, context: []) == nil)
        #expect(try AuthenticatedCipher(key: randomBytes(32)).open(sealed, context: [7]) == nil)
        for count in 0..<sealed.count { #expect(try cipher.open(Array(sealed.prefix(count)), context: [7]) == nil) }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(try cipher.open(changed, context: [7]) == nil)
        }
        #expect(CryptographyError.takeReasons() == [], "no error stays for another call")
    }

    @Test func `an empty text opens, and each nonce is another`() throws {
        let cipher = AuthenticatedCipher(key: randomBytes(32))
        let (first, second) = (try cipher.seal([], context: []), try cipher.seal([], context: []))
        #expect(try cipher.open(first, context: []) == [])
        #expect(first.prefix(12) != second.prefix(12))
    }
}
