import COpenSSL
import Testing

@testable import Cryptography

@Suite struct SelfSignedCertificateTests {
    private let day = 86_400

    /// What `openssl x509 -text` prints of a certificate.
    private func text(_ certificate: borrowing SelfSignedCertificate) -> String {
        certificate.withPointers { _, certificate in
            guard let output = BIO_new(BIO_s_mem()), X509_print(output, certificate) == 1 else { return "" }
            defer { BIO_free(output) }
            var bytes = [UInt8](repeating: 0, count: 16_384)
            let count = BIO_read(output, &bytes, Int32(bytes.count))
            return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
        }
    }

    @Test func `a server's certificate has what browsers ask for`() throws {
        let made = try SelfSignedCertificate(
            .p256,
            .init(
                commonName: "Tessera", validity: -3600..<397 * day,
                serverNames: [
                    .dns("localhost"), .address([127, 0, 0, 1]), .address([UInt8](repeating: 0, count: 15) + [1]),
                ]))
        let text = text(made)
        for part in [
            "Version: 3", "Issuer: CN=Tessera", "Subject: CN=Tessera", "ecdsa-with-SHA256", "NIST CURVE: P-256",
            "X509v3 Basic Constraints: critical\n                CA:FALSE",
            "X509v3 Key Usage: critical\n                Digital Signature\n",
            "X509v3 Extended Key Usage: \n                TLS Web Server Authentication\n",
            "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1\n",
        ] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
    }

    @Test(arguments: [SelfSignedCertificate.Key.p256, .rsa2048])
    func `it is signed by its own key, which belongs to it`(key: SelfSignedCertificate.Key) throws {
        let made = try SelfSignedCertificate(key, .init(commonName: "tessera", validity: -day..<365 * day))
        #expect(
            made.withPointers { key, certificate in
                X509_verify(certificate, key) == 1 && X509_check_private_key(certificate, key) == 1
            })
        #expect(!text(made).contains("X509v3 extensions"))
        for der in [try made.certificateDER(), try made.keyDER()] {
            #expect(der.count > 100 && der[0] == 0x30, "a sequence")
        }
    }

    @Test func `two have different serial numbers and keys`() throws {
        let contents = SelfSignedCertificate.Contents(commonName: "tessera", validity: 0..<day)
        let first = try SelfSignedCertificate(.p256, contents)
        let second = try SelfSignedCertificate(.p256, contents)
        #expect(try first.keyDER() != second.keyDER())
        #expect(
            text(first).split(separator: "\n").first { $0.contains("Serial") }
                != text(second).split(separator: "\n").first { $0.contains("Serial") })
    }

    @Test func `a name that the standard does not allow is an error`() {
        #expect(throws: CryptographyError.self) {
            _ = try SelfSignedCertificate(
                .p256, .init(commonName: String(repeating: "x", count: 65), validity: 0..<day))
        }
    }
}
