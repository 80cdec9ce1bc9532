import COpenSSL

/// AES-256 in Galois/Counter Mode (NIST SP 800-38D), with a random nonce for each text.
package struct AuthenticatedCipher: Sendable {
    package static let keyLength = 32
    /// 96 bits, for which GCM needs no further hash (§5.2.1.1). Random, they serve for 2³² texts of a key (§8.3).
    package static let nonceLength = 12
    package static let tagLength = 16

    private let key: [UInt8]

    /// - Parameter key: 32 bytes.
    package init(key: [UInt8]) {
        precondition(key.count == AuthenticatedCipher.keyLength, "AES-256 takes a key of 32 bytes")
        self.key = key
    }

    /// The nonce, the encrypted text and the tag.
    ///
    /// - Parameter context: what is authenticated beside the text.
    package func seal(_ text: [UInt8], context: [UInt8]) throws(CryptographyError) -> [UInt8] {
        try seal(text, context: context, nonce: randomBytes(AuthenticatedCipher.nonceLength))
    }

    /// For test vectors: a nonce that serves twice gives the texts away.
    func seal(_ text: [UInt8], context: [UInt8], nonce: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let pass = try GCMPass(key: key, nonce: nonce, isSealing: true)
        try pass.authenticate(context)
        let sealed = try pass.take(text)
        guard pass.finish() else { throw CryptographyError("sealing") }
        return nonce + sealed + (try pass.tag())
    }

    /// The text of what `seal` made with this key and `context`; nil for everything else.
    package func open(_ sealed: [UInt8], context: [UInt8]) throws(CryptographyError) -> [UInt8]? {
        let (nonceLength, tagLength) = (AuthenticatedCipher.nonceLength, AuthenticatedCipher.tagLength)
        guard sealed.count >= nonceLength + tagLength else { return nil }
        let pass = try GCMPass(key: key, nonce: Array(sealed.prefix(nonceLength)), isSealing: false)
        try pass.authenticate(context)
        let text = try pass.take(Array(sealed[nonceLength..<sealed.count - tagLength]))
        try pass.expect(tag: Array(sealed.suffix(tagLength)))
        return pass.finish() ? text : nil
    }
}

/// One use of OpenSSL's cipher context: `authenticate`, `take`, then `finish`.
private struct GCMPass: ~Copyable {
    private let context: OpaquePointer

    init(key: [UInt8], nonce: [UInt8], isSealing: Bool) throws(CryptographyError) {
        guard let context = EVP_CIPHER_CTX_new() else { throw CryptographyError("making a cipher") }
        // The default length of a nonce is 12 bytes.
        guard nonce.count == AuthenticatedCipher.nonceLength,
            EVP_CipherInit_ex2(context, EVP_aes_256_gcm(), key, nonce, isSealing ? 1 : 0, nil) == 1
        else {
            EVP_CIPHER_CTX_free(context)
            throw CryptographyError("preparing a cipher")
        }
        self.context = context
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    func authenticate(_ bytes: [UInt8]) throws(CryptographyError) {
        var count: Int32 = 0
        guard let size = Int32(exactly: bytes.count), EVP_CipherUpdate(context, nil, &count, bytes, size) == 1 else {
            throw CryptographyError("authenticating")
        }
    }

    /// The text encrypted or decrypted, of the same length.
    func take(_ text: [UInt8]) throws(CryptographyError) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: text.count)
        var count: Int32 = 0
        // OpenSSL returns 0 for no bytes.
        guard !text.isEmpty else { return [] }
        guard let size = Int32(exactly: text.count), EVP_CipherUpdate(context, &result, &count, text, size) == 1,
            count == size
        else { throw CryptographyError("encrypting or decrypting") }
        return result
    }

    /// Whether the pass ended well: in opening, whether the tag is right.
    func finish() -> Bool {
        var rest = [UInt8](repeating: 0, count: 16)
        var count: Int32 = 0
        defer { _ = CryptographyError.takeReasons() }
        return EVP_CipherFinal_ex(context, &rest, &count) == 1 && count == 0
    }

    func tag() throws(CryptographyError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: AuthenticatedCipher.tagLength)
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1 else {
            throw CryptographyError("reading a tag")
        }
        return tag
    }

    func expect(tag: [UInt8]) throws(CryptographyError) {
        var tag = tag
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1 else {
            throw CryptographyError("preparing a tag")
        }
    }
}
