import Testing

@testable import Cryptography

@Suite struct KeyDerivationTests {
    /// RFC 5869 appendix A.1 and A.3: with salt and info, and without both.
    @Test func `HKDF with SHA-256`() {
        let secret = [UInt8](repeating: 0x0B, count: 22)
        #expect(
            KeyDerivation.hkdf(
                secret, salt: hex("000102030405060708090a0b0c"), info: hex("f0f1f2f3f4f5f6f7f8f9"), count: 42)
                == hex(
                    """
                    3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865
                    """))
        #expect(
            KeyDerivation.hkdf(secret, info: [], count: 42)
                == hex(
                    """
                    8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8
                    """))
    }

    /// RFC 7914 §12.
    @Test func scrypt() throws {
        let empty = try KeyDerivation.scrypt(
            [], salt: [], .init(rounds: 16, blockSize: 1, parallelism: 1), count: 64)
        #expect(
            empty
                == hex(
                    """
                    77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442
                    fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906
                    """))
        let password = try KeyDerivation.scrypt(
            Array("password".utf8), salt: Array("NaCl".utf8), .init(rounds: 1024, blockSize: 8, parallelism: 16),
            count: 64)
        #expect(
            password
                == hex(
                    """
                    fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622
                    eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640
                    """))
    }

    @Test(arguments: [(0, 8, 1), (15, 8, 1), (-16, 8, 1), (16, 0, 1), (16, 8, 0), (Int.max, Int.max, Int.max)])
    func `an impossible cost is an error`(rounds: Int, blockSize: Int, parallelism: Int) {
        #expect(throws: CryptographyError.self) {
            try KeyDerivation.scrypt(
                [1], salt: [2], .init(rounds: rounds, blockSize: blockSize, parallelism: parallelism), count: 32)
        }
    }
}
