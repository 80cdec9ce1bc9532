import COpenSSL
import Cryptography

/// A key and its self-signed certificate: this server's identity towards its peers. One per process is enough.
///
/// `@unchecked Sendable`: the two contexts, which own the key and certificate, are configured in `init` and only read
/// afterwards; creating a connection from one locks inside OpenSSL.
public final class DTLSIdentity: @unchecked Sendable {
    /// The kinds of key.
    public enum Key: Hashable, Sendable {
        /// ECDSA on P-256: small certificates that are quick to make. Every WebRTC endpoint must accept it.
        case p256
        /// RSA of 2048 bits, for older endpoints.
        case rsa2048
    }

    /// The certificate's SHA-256, for `a=fingerprint`.
    public let fingerprint: Fingerprint
    /// DTLS 1.2 only (RFC 8827 §6.5).
    let context: OpaquePointer
    /// Accepts DTLS 1.0 too, for peers that the configuration allows.
    let legacyContext: OpaquePointer

    /// Makes a new key and certificate.
    public static func generate(_ key: Key = .p256) throws(DTLSError) -> DTLSIdentity {
        try DTLSIdentity(key)
    }

    private init(_ kind: Key) throws(DTLSError) {
        // Before a call needs it: it takes some milliseconds, and whoever starts the program sees why it cannot.
        guard SRTPLibrary.isStarted else { throw DTLSError("starting libsrtp2 and NSS (libnss3) below it") }
        let day = 86_400
        let made: SelfSignedCertificate
        do throws(CryptographyError) {
            // From yesterday, because peers' clocks are wrong.
            made = try SelfSignedCertificate(
                kind == .p256 ? .p256 : .rsa2048, .init(commonName: "tessera", validity: -day..<365 * day))
        } catch {
            throw DTLSError(error)
        }
        (fingerprint, context, legacyContext) = try made.withPointers { key, certificate throws(DTLSError) in
            guard let hash = Self.digest(of: certificate, algorithm: "sha-256") else {
                throw DTLSError("hashing the certificate")
            }
            let context = try Self.context(key, certificate, legacy: false)
            do throws(DTLSError) {
                let legacy = try Self.context(key, certificate, legacy: true)
                return (Fingerprint(algorithm: "sha-256", bytes: hash), context, legacy)
            } catch {
                SSL_CTX_free(context)
                throw error
            }
        }
    }

    deinit {
        SSL_CTX_free(context)
        SSL_CTX_free(legacyContext)
    }

    /// The hash of a certificate by SDP's name of the hash function (RFC 8122 §5); nil if the function is unknown or
    /// too weak.
    static func digest(of certificate: OpaquePointer, algorithm: String) -> [UInt8]? {
        let type =
            switch algorithm {
            case "sha-256": EVP_sha256()
            case "sha-384": EVP_sha384()
            case "sha-512": EVP_sha512()
            case "sha-224": EVP_sha224()
            default: OpaquePointer?.none
            }
        guard let type else { return nil }
        var bytes = [UInt8](repeating: 0, count: 64)
        var length: UInt32 = 0
        guard X509_digest(certificate, type, &bytes, &length) == 1, let count = Int(exactly: length),
            count <= bytes.count
        else { return nil }
        return Array(bytes[0..<count])
    }

    /// `SSL_CTX` with everything that connections of this identity share.
    private static func context(
        _ key: OpaquePointer, _ certificate: OpaquePointer, legacy: Bool
    ) throws(DTLSError) -> OpaquePointer {
        guard let context = SSL_CTX_new(DTLS_method()) else { throw DTLSError("making a DTLS context") }
        let profiles = SRTPProfile.allCases.map(\.name).joined(separator: ":")
        // An ECDSA certificate serves only the ECDHE-ECDSA suites, which are all that aiortc offers; the RSA suites are
        // for when we are the client of an RSA server.
        let ciphers =
            "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA"
        guard ossl_set_min_version(context, legacy ? DTLS1_VERSION : DTLS1_2_VERSION) == 1,
            ossl_set_max_version(context, DTLS1_2_VERSION) == 1,
            // DTLS 1.0 signs with SHA-1, which OpenSSL allows at security level 0 only.
            SSL_CTX_set_cipher_list(context, legacy ? ciphers + ":@SECLEVEL=0" : ciphers) == 1,
            ossl_set_groups(context, "X25519:P-256:P-384") == 1,
            // Unlike the other calls this one returns 0 for success.
            SSL_CTX_set_tlsext_use_srtp(context, profiles) == 0,
            SSL_CTX_use_certificate(context, certificate) == 1,
            SSL_CTX_use_PrivateKey(context, key) == 1
        else {
            SSL_CTX_free(context)
            throw DTLSError("configuring DTLS")
        }
        _ = SSL_CTX_set_options(context, ossl_options_dtls)
        _ = ossl_disable_session_cache(context)
        // Certificates are self-signed: `verify` checks the fingerprint from the signalling after the handshake.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT) { _, _ in 1 }
        return context
    }
}
