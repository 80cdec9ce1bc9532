import COpenSSL

/// A new key with its self-signed certificate (RFC 5280), signed with SHA-256.
package struct SelfSignedCertificate: ~Copyable {
    /// The kinds of key.
    package enum Key: Sendable {
        case p256
        case rsa2048
    }

    /// An alternative name of the subject.
    package enum Name: Hashable, Sendable {
        /// A name of DNS, in ASCII.
        case dns(String)
        /// An address of 4 or 16 bytes.
        case address([UInt8])
    }

    /// What a certificate says.
    package struct Contents: Sendable {
        package var commonName: String
        /// The beginning and the end, in seconds from now.
        package var validity: Range<Int>
        /// For a server of HTTPS: its names. Empty: the certificate has no extensions.
        package var serverNames: [Name]

        package init(commonName: String, validity: Range<Int>, serverNames: [Name] = []) {
            self.commonName = commonName
            self.validity = validity
            self.serverNames = serverNames
        }
    }

    private let key: OpaquePointer
    private let certificate: OpaquePointer

    package init(_ kind: Key, _ contents: Contents) throws(CryptographyError) {
        ERR_clear_error()
        guard let key = kind == .p256 ? ossl_generate_p256() : ossl_generate_rsa(2048) else {
            throw CryptographyError("making a key")
        }
        guard let certificate = X509_new() else {
            EVP_PKEY_free(key)
            throw CryptographyError("making a certificate")
        }
        guard Self.fill(certificate, contents, key) else {
            X509_free(certificate)
            EVP_PKEY_free(key)
            throw CryptographyError("making a certificate")
        }
        self.key = key
        self.certificate = certificate
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    /// Lends `EVP_PKEY` and `X509`, which are freed with this.
    package borrowing func withPointers<Result, Failure>(
        _ body: (_ key: OpaquePointer, _ certificate: OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(key, certificate)
    }

    /// The certificate in DER (X.690).
    package func certificateDER() throws(CryptographyError) -> [UInt8] {
        try Self.der("encoding a certificate") { i2d_X509(certificate, $0) }
    }

    /// The private key in DER, as its algorithm has it: of P-256 as in RFC 5915, of RSA as in RFC 8017.
    package func keyDER() throws(CryptographyError) -> [UInt8] {
        try Self.der("encoding a key") { i2d_PrivateKey(key, $0) }
    }

    private static func fill(_ certificate: OpaquePointer, _ contents: Contents, _ key: OpaquePointer) -> Bool {
        let name = X509_get_subject_name(certificate)
        // Positive and never zero (RFC 5280 §4.1.2.2).
        let serial = randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) } >> 1 | 1
        return X509_set_version(certificate, 2) == 1
            && ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1
            && X509_gmtime_adj(X509_getm_notBefore(certificate), contents.validity.lowerBound) != nil
            && X509_gmtime_adj(X509_getm_notAfter(certificate), contents.validity.upperBound) != nil
            && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, contents.commonName, -1, -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1
            && X509_set_pubkey(certificate, key) == 1
            && (contents.serverNames.isEmpty || extend(certificate, contents.serverNames))
            && X509_sign(certificate, key, EVP_sha256()) > 0
    }

    /// What browsers ask of a server's certificate (RFC 5280 §4.2.1, RFC 6125 §6.4).
    private static func extend(_ certificate: OpaquePointer, _ names: [Name]) -> Bool {
        let fixed: [(Int32, String)] = [
            (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "serverAuth"),
        ]
        for (type, value) in fixed {
            guard let added = X509V3_EXT_conf_nid(nil, nil, type, value) else { return false }
            defer { X509_EXTENSION_free(added) }
            guard X509_add_ext(certificate, added, -1) == 1 else { return false }
        }
        guard let list = GENERAL_NAMES_new() else { return false }
        defer { GENERAL_NAMES_free(list) }
        for name in names {
            let isAdded =
                switch name {
                case .dns(let text): ossl_add_name(list, GEN_DNS, Array(text.utf8), Int32(text.utf8.count))
                case .address(let bytes): ossl_add_name(list, GEN_IPADD, bytes, Int32(bytes.count))
                }
            guard isAdded == 1 else { return false }
        }
        return X509_add1_ext_i2d(certificate, NID_subject_alt_name, UnsafeMutableRawPointer(list), 0, 0) == 1
    }

    /// Runs one of OpenSSL's encoders, which tells the length, and then writes.
    private static func der(
        _ operation: String, _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws(CryptographyError) -> [UInt8] {
        var written: Int32 = 0
        var bytes = [UInt8](repeating: 0, count: Int(max(0, encode(nil))))
        let count = bytes.count
        bytes.withUnsafeMutableBufferPointer { buffer in
            // The encoder moves the pointer behind what it wrote.
            var end = buffer.baseAddress
            if count > 0 { written = encode(&end) }
        }
        guard count > 0, Int(written) == count else { throw CryptographyError(operation) }
        return bytes
    }
}
