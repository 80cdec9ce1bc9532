import COpenSSL

/// `count` random bytes of OpenSSL's generator. Without entropy it fails; the system's generator, which waits for some,
/// is used then.
package func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard let size = Int32(exactly: count), RAND_bytes(&bytes, size) == 1 else {
        _ = CryptographyError.takeReasons()
        var generator = SystemRandomNumberGenerator()
        for index in bytes.indices { bytes[index] = generator.next() }
        return bytes
    }
    return bytes
}
