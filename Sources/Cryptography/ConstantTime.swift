import COpenSSL

/// Compares in a time that depends on the lengths only.
package func isEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
    first.count == second.count && CRYPTO_memcmp(first, second, first.count) == 0
}

/// Compares two texts by their digests, so that the time does not depend on where they differ, nor on their lengths.
package func isEqual(_ first: String, _ second: String) -> Bool {
    isEqual(HashFunction.sha256.digest(Array(first.utf8)), HashFunction.sha256.digest(Array(second.utf8)))
}
