import COpenSSL

/// Keys made from other secrets.
package enum KeyDerivation {
    /// HKDF with SHA-256 (RFC 5869): a key for one purpose, `info`, from a secret that serves several. Ends the process
    /// where `HashFunction.digest` does.
    ///
    /// - Parameters:
    ///   - secret: not empty.
    ///   - salt: may be empty (RFC 5869 §2.2).
    ///   - count: at most 255 · 32 bytes (RFC 5869 §2.3).
    package static func hkdf(_ secret: [UInt8], salt: [UInt8] = [], info: [UInt8], count: Int) -> [UInt8] {
        let method = EVP_KDF_fetch(nil, "HKDF", nil)
        defer { EVP_KDF_free(method) }
        let context = EVP_KDF_CTX_new(method)
        defer { EVP_KDF_CTX_free(context) }
        var key = [UInt8](repeating: 0, count: count)
        guard let context,
            ossl_hkdf(context, secret, secret.count, salt, salt.count, info, info.count, &key, count) == 1
        else { fatalError("\(CryptographyError("deriving a key")); see openssl.cnf") }
        return key
    }

    /// The work for one hash of scrypt (RFC 7914 §2).
    package struct ScryptCost: Sendable {
        /// N, a power of two.
        package var rounds: Int
        /// r
        package var blockSize: Int
        /// p
        package var parallelism: Int

        package init(rounds: Int, blockSize: Int, parallelism: Int) {
            self.rounds = rounds
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// The memory that OpenSSL takes for one hash, in bytes, which it compares with a limit; nil for a cost beyond
        /// every limit.
        var memory: UInt64? {
            let (rounds, block) = (UInt64(exactly: rounds), UInt64(exactly: blockSize))
            guard let rounds, let block, let lanes = UInt64(exactly: parallelism), rounds < 1 << 32, block < 1 << 16,
                lanes < 1 << 14
            else { return nil }
            return 128 * block * lanes + 128 * block * (rounds + 2)
        }
    }

    /// scrypt (RFC 7914) of a password, slow and large on purpose.
    package static func scrypt(
        _ password: [UInt8], salt: [UInt8], _ cost: ScryptCost, count: Int
    ) throws(CryptographyError) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: count)
        // OpenSSL takes the password as `char`.
        let text = password.map { CChar(bitPattern: $0) }
        guard let memory = cost.memory,
            EVP_PBE_scrypt(
                text, text.count, salt, salt.count, UInt64(cost.rounds), UInt64(cost.blockSize),
                UInt64(cost.parallelism), memory, &key, count) == 1
        else { throw CryptographyError("hashing a password") }
        return key
    }
}
