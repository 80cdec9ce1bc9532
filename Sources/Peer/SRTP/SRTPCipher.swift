import COpenSSL

/// Encrypts or decrypts one kind of packets in one direction: AES-GCM (RFC 7714), or AES in counter mode with
/// HMAC-SHA-1 (RFC 3711 §4.1.1, §4.2.1).
///
/// It works in place and knows where a packet's tag lies; indices and replays are the caller's. Confined to its
/// connection's thread.
final class SRTPCipher {
    /// What the nonce and the tag of a packet depend on beside its bytes.
    struct Packet {
        let ssrc: UInt32
        /// 48 bits: rollover counter and sequence number; the 31-bit index for RTCP.
        let index: UInt64
        /// How many octets at its begin stay in clear.
        let header: Int
        /// The four octets that are authenticated with it: the rollover counter, or the E flag and index of RTCP, which
        /// stand in the packet too.
        let word: UInt32
    }

    private let profile: SRTPProfile
    private let isReport: Bool
    private let cipher: OpaquePointer
    /// HMAC-SHA-1; nil where the cipher authenticates.
    private let hmac: OpaquePointer?
    /// The session salt's 16 octets, zeros at the end, as two big-endian numbers.
    private let salt: (high: UInt64, low: UInt64)

    init(_ profile: SRTPProfile, master: [UInt8], isReport: Bool, encrypts: Bool) throws(SRTPError) {
        let keys = try SRTPSessionKeys(profile, master: master, isReport: isReport)
        self.profile = profile
        self.isReport = isReport
        let octets = keys.salt + [UInt8](repeating: 0, count: 16 - keys.salt.count)
        salt = (
            octets[..<8].reduce(0) { $0 << 8 | UInt64($1) }, octets[8...].reduce(0) { $0 << 8 | UInt64($1) }
        )
        guard let cipher = EVP_CIPHER_CTX_new() else { throw .cipher }
        let algorithm =
            switch profile {
            case .aes128GCM: EVP_aes_128_gcm()
            case .aes256GCM: EVP_aes_256_gcm()
            case .aes128CounterSHA1_80: EVP_aes_128_ctr()
            }
        // Every mode here has nonces as long as OpenSSL expects: 12 octets for GCM, 16 for counter mode.
        guard EVP_CipherInit_ex(cipher, algorithm, nil, keys.encryption, nil, encrypts ? 1 : 0) == 1 else {
            EVP_CIPHER_CTX_free(cipher)
            throw .cipher
        }
        self.cipher = cipher
        guard !profile.isAuthenticatedCipher else {
            hmac = nil
            return
        }
        guard let hmac = Self.makeHMAC(key: keys.authentication) else {
            EVP_CIPHER_CTX_free(cipher)
            throw .cipher
        }
        self.hmac = hmac
    }

    deinit {
        EVP_CIPHER_CTX_free(cipher)
        EVP_MAC_CTX_free(hmac)
    }

    /// Encrypts the `count` octets at `base`, behind which there is room for `overhead`; returns the new length.
    func seal(_ base: UnsafeMutableRawPointer, count: Int, _ packet: Packet) throws(SRTPError) -> Int {
        let end = base + count
        try begin(packet, base)
        try crypt(base + packet.header, count: count - packet.header)
        if profile.isAuthenticatedCipher {
            var written: Int32 = 0
            guard EVP_CipherFinal_ex(cipher, end, &written) == 1,
                EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(profile.tagLength), end) == 1
            else { throw .cipher }
            if isReport { Self.store(packet.word, at: end + profile.tagLength) }
        } else {
            if isReport { Self.store(packet.word, at: end) }
            try authenticate(base, count: count, packet.word) { tag in
                (isReport ? end + 4 : end).copyMemory(from: tag, byteCount: profile.tagLength)
            }
        }
        return count + overhead
    }

    /// Checks and decrypts the `count` octets at `base`, of which the caller knows that they hold the header and
    /// `overhead`; returns the length of what was encrypted. The octets behind it are worth nothing.
    func open(_ base: UnsafeMutableRawPointer, count: Int, _ packet: Packet) throws(SRTPError) -> Int {
        let length = count - overhead
        let end = base + length
        if profile.isAuthenticatedCipher {
            try begin(packet, base)
            try crypt(base + packet.header, count: length - packet.header)
            var written: Int32 = 0
            guard EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(profile.tagLength), end) == 1 else {
                throw .cipher
            }
            guard EVP_CipherFinal_ex(cipher, end, &written) == 1 else { throw .unauthenticated }
        } else {
            var isAuthentic = false
            try authenticate(base, count: length, packet.word) { tag in
                isAuthentic = CRYPTO_memcmp(tag, isReport ? end + 4 : end, profile.tagLength) == 0
            }
            guard isAuthentic else { throw .unauthenticated }
            try begin(packet, base)
            try crypt(base + packet.header, count: length - packet.header)
        }
        return length
    }

    /// Octets that encryption adds: the tag, and the index of RTCP.
    var overhead: Int { profile.tagLength + (isReport ? 4 : 0) }

    /// Sets the packet's nonce, and what a cipher that authenticates takes without encrypting it: the header and, for
    /// RTCP, the index (RFC 7714 §8.1, §9.1, §9.2; RFC 3711 §4.1.1).
    private func begin(_ packet: Packet, _ base: UnsafeMutableRawPointer) throws(SRTPError) {
        var nonce = salt
        if profile.isAuthenticatedCipher {
            nonce.high ^= UInt64(packet.ssrc) << 16 | packet.index >> 32
            nonce.low ^= (packet.index & 0xFFFF_FFFF) << 32
        } else {
            nonce.high ^= UInt64(packet.ssrc)
            nonce.low ^= packet.index << 16
        }
        nonce = (nonce.high.bigEndian, nonce.low.bigEndian)
        let isSet = withUnsafeBytes(of: &nonce) { octets in
            EVP_CipherInit_ex(
                cipher, nil, nil, nil, octets.baseAddress?.assumingMemoryBound(to: UInt8.self), -1) == 1
        }
        guard isSet else { throw .cipher }
        guard profile.isAuthenticatedCipher else { return }
        try authenticateOnly(base, count: packet.header)
        guard isReport else { return }
        try withUnsafeBytes(of: packet.word.bigEndian) { (octets) throws(SRTPError) in
            try authenticateOnly(octets.baseAddress, count: octets.count)
        }
    }

    private func authenticateOnly(_ base: UnsafeRawPointer?, count: Int) throws(SRTPError) {
        var written: Int32 = 0
        guard EVP_CipherUpdate(cipher, nil, &written, base?.assumingMemoryBound(to: UInt8.self), Int32(count)) == 1
        else { throw .cipher }
    }

    private func crypt(_ base: UnsafeMutableRawPointer, count: Int) throws(SRTPError) {
        guard count > 0 else { return }
        let octets = base.assumingMemoryBound(to: UInt8.self)
        var written: Int32 = 0
        guard EVP_CipherUpdate(cipher, octets, &written, octets, Int32(count)) == 1, written == count else {
            throw .cipher
        }
    }

    /// Hands out the HMAC of the octets and the word behind them: 20 octets, of which the profile sends the first
    /// `tagLength`.
    private func authenticate(
        _ base: UnsafeMutableRawPointer, count: Int, _ word: UInt32, _ body: (UnsafeRawPointer) -> Void
    ) throws(SRTPError) {
        var digest: (UInt64, UInt64, UInt32) = (0, 0, 0)
        let isDone = withUnsafeMutableBytes(of: &digest) { octets in
            guard let start = octets.baseAddress else { return false }
            var written = 0
            // Without a key the context begins again with the one that it has.
            guard EVP_MAC_init(hmac, nil, 0, nil) == 1,
                EVP_MAC_update(hmac, base.assumingMemoryBound(to: UInt8.self), count) == 1,
                withUnsafeBytes(
                    of: word.bigEndian,
                    { word in
                        EVP_MAC_update(hmac, word.baseAddress?.assumingMemoryBound(to: UInt8.self), word.count)
                    }) == 1,
                EVP_MAC_final(hmac, start.assumingMemoryBound(to: UInt8.self), &written, 20) == 1, written == 20
            else { return false }
            body(start)
            return true
        }
        guard isDone else { throw .cipher }
    }

    private static func store(_ word: UInt32, at place: UnsafeMutableRawPointer) {
        place.storeBytes(of: word.bigEndian, as: UInt32.self)
    }

    private static func makeHMAC(key: [UInt8]) -> OpaquePointer? {
        guard let algorithm = EVP_MAC_fetch(nil, "HMAC", nil) else { return nil }
        defer { EVP_MAC_free(algorithm) }
        guard let context = EVP_MAC_CTX_new(algorithm) else { return nil }
        // The context copies the name.
        var name = Array("SHA1".utf8CString)
        let isSet = name.withUnsafeMutableBufferPointer { digest in
            let parameters = [
                OSSL_PARAM_construct_utf8_string("digest", digest.baseAddress, 0), OSSL_PARAM_construct_end(),
            ]
            return EVP_MAC_init(context, key, key.count, parameters) == 1
        }
        guard isSet else {
            EVP_MAC_CTX_free(context)
            return nil
        }
        return context
    }
}
