/// How media is encrypted (the DTLS-SRTP protection profiles of RFC 5764 §4.1.2 and RFC 7714 §14.2).
public enum SRTPProfile: UInt16, CaseIterable, Hashable, Sendable {
    // In order of preference: with Debian's libsrtp GCM costs a quarter of counter mode with HMAC-SHA-1.
    /// AEAD_AES_128_GCM.
    case aes128GCM = 0x0007
    /// AEAD_AES_256_GCM.
    case aes256GCM = 0x0008
    /// AES128_CM_HMAC_SHA1_80, which every WebRTC end must have.
    case aes128CounterSHA1_80 = 0x0001

    /// The master key's length in bytes.
    public var keyLength: Int { self == .aes256GCM ? 32 : 16 }
    /// The master salt's length in bytes.
    public var saltLength: Int { self == .aes128CounterSHA1_80 ? 14 : 12 }
    /// How many bytes the authentication tag adds to a packet.
    public var tagLength: Int { self == .aes128CounterSHA1_80 ? 10 : 16 }
    /// Whether the cipher authenticates what it encrypts, so that no HMAC is needed beside it.
    var isAuthenticatedCipher: Bool { self != .aes128CounterSHA1_80 }
}

/// The master keys of one DTLS-SRTP association, seen from this end.
package struct SRTPKeys: Hashable, Sendable {
    package let profile: SRTPProfile
    /// Key and salt, joined, of what we send.
    package let local: [UInt8]
    /// Key and salt, joined, of what the peer sends.
    package let remote: [UInt8]

    package init(profile: SRTPProfile, local: [UInt8], remote: [UInt8]) {
        self.profile = profile
        self.local = local
        self.remote = remote
    }
}
