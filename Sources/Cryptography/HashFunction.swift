import COpenSSL

/// The hash functions in use (FIPS 180-4).
package enum HashFunction: Sendable {
    /// For MESSAGE-INTEGRITY (RFC 8489 §14.5) and coturn's credentials, which allow no other.
    case sha1
    case sha256

    /// The length of a digest, in bytes.
    package var length: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        }
    }

    var type: OpaquePointer? {
        switch self {
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        }
    }

    /// The hash of `bytes`. OpenSSL refuses it only where its configuration takes the function away, or where memory
    /// ends; then the process ends too, with a sentence.
    package func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: length)
        guard EVP_Digest(bytes, bytes.count, &digest, nil, type, nil) == 1 else {
            fatalError("\(CryptographyError("hashing with \(self)")); see openssl.cnf")
        }
        return digest
    }

    /// HMAC (RFC 2104) of `bytes`. Ends the process where `digest` does.
    package func authenticationCode(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: length)
        guard let size = Int32(exactly: key.count), HMAC(type, key, size, bytes, bytes.count, &code, nil) != nil else {
            fatalError("\(CryptographyError("HMAC with \(self)")); see openssl.cnf")
        }
        return code
    }

    /// Whether `code` is the HMAC of `bytes`, in a time that does not depend on where it differs.
    package func isAuthenticationCode(_ code: [UInt8], of bytes: [UInt8], key: [UInt8]) -> Bool {
        isEqual(code, authenticationCode(bytes, key: key))
    }
}
