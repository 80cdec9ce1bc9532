import COpenSSL

/// The session keys of one kind of packets in one direction, derived once from the master key: the key derivation rate
/// of DTLS-SRTP is 0 (RFC 3711 §4.3, RFC 6188 §2 for 256 bits, RFC 7714 §11 for GCM).
struct SRTPSessionKeys {
    let encryption: [UInt8]
    /// Of HMAC-SHA-1; empty where the cipher authenticates.
    let authentication: [UInt8]
    let salt: [UInt8]

    /// The master key, and the salt as long as the key derivation wants it.
    private struct Master {
        let key: [UInt8]
        let salt: [UInt8]
    }

    /// - Parameters:
    ///   - master: key and salt, joined, of the lengths that `profile` says.
    ///   - isReport: of RTCP, not of RTP.
    init(_ profile: SRTPProfile, master: [UInt8], isReport: Bool) throws(SRTPError) {
        let key = Array(master.prefix(profile.keyLength))
        // The salt of GCM is two octets shorter than the key derivation's input: zeros follow it.
        var salt = Array(master.dropFirst(profile.keyLength))
        salt.append(contentsOf: repeatElement(0, count: 14 - salt.count))
        let master = Master(key: key, salt: salt)
        // RFC 3711 §4.3.1 and §4.3.2: three labels for RTP, then the same three for RTCP.
        let label: UInt8 = isReport ? 3 : 0
        encryption = try Self.derive(master, label: label, count: profile.keyLength)
        authentication =
            profile.isAuthenticatedCipher ? [] : try Self.derive(master, label: label + 1, count: 20)
        self.salt = try Self.derive(master, label: label + 2, count: profile.saltLength)
    }

    /// The first octets of AES in counter mode from the salt, in which the label is mixed (RFC 3711 §4.3.3).
    private static func derive(_ master: Master, label: UInt8, count: Int) throws(SRTPError) -> [UInt8] {
        guard let context = EVP_CIPHER_CTX_new() else { throw .cipher }
        defer { EVP_CIPHER_CTX_free(context) }
        var counter = master.salt + [0, 0]
        counter[7] ^= label
        let zeros = [UInt8](repeating: 0, count: count)
        var output = zeros
        var written: Int32 = 0
        let cipher = master.key.count == 32 ? EVP_aes_256_ctr() : EVP_aes_128_ctr()
        guard EVP_EncryptInit_ex(context, cipher, nil, master.key, counter) == 1,
            EVP_EncryptUpdate(context, &output, &written, zeros, Int32(count)) == 1, written == count
        else { throw .cipher }
        return output
    }
}
