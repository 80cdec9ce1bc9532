/// DTLS-SRTP (RFC 5764): the DTLS handshake negotiates a profile and exports the keys.
extension SRTPProfile {
    /// OpenSSL's name of the profile.
    var name: String {
        switch self {
        case .aes128GCM: "SRTP_AEAD_AES_128_GCM"
        case .aes256GCM: "SRTP_AEAD_AES_256_GCM"
        case .aes128CounterSHA1_80: "SRTP_AES128_CM_SHA1_80"
        }
    }

    /// The bytes to request from the DTLS exporter; exact, because TLS 1.3's exporter depends on the length.
    var exportedLength: Int { 2 * (keyLength + saltLength) }
}

extension SRTPKeys {
    /// Splits exported keying material: client key, server key, client salt, server salt (RFC 5764 §4.2).
    init?(profile: SRTPProfile, exported: [UInt8], role: DTLSRole) {
        guard exported.count == profile.exportedLength else { return nil }
        let key = profile.keyLength
        let salt = profile.saltLength
        let client = Array(exported[0..<key] + exported[2 * key..<2 * key + salt])
        let server = Array(exported[key..<2 * key] + exported[(2 * key + salt)...])
        self.init(
            profile: profile, local: role == .client ? client : server, remote: role == .client ? server : client)
    }
}
