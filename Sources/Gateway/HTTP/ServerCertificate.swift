import Basics
import Crypto
import Foundation
import NIOCore
import NIOSSL
import SwiftASN1
import X509

/// The certificate for HTTPS: from PEM files, or generated at the start.
enum ServerCertificate {
    /// nil without TLS.
    static func configuration(_ settings: TesseraConfiguration.HTTP) throws(ConfigurationFaults) -> TLSConfiguration? {
        guard settings.tls.isOn else { return nil }
        var configuration: TLSConfiguration
        if settings.tls.selfSigned {
            configuration = try selfSigned(for: names(settings.listen))
        } else {
            configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try chain(settings.tls.certificate), privateKey: try key(settings.tls.key))
        }
        // WebSocket needs HTTP/1.1, the only protocol of this server.
        configuration.applicationProtocols = ["http/1.1"]
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }

    private static func chain(_ path: String) throws(ConfigurationFaults) -> [NIOSSLCertificateSource] {
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(path)
            if !certificates.isEmpty { return certificates.map { .certificate($0) } }
        } catch {}
        throw fault("http.tls.certificate", path, "cannot be read as certificates in PEM, the server's own first")
    }

    /// The end of the first certificate that becomes invalid.
    static func expiry(of configuration: TLSConfiguration) -> Date? {
        configuration.certificateChain.compactMap { source -> Date? in
            guard case .certificate(let certificate) = source else { return nil }
            return Date(timeIntervalSince1970: TimeInterval(certificate.notValidAfter))
        }.min()
    }

    private static func key(_ path: String) throws(ConfigurationFaults) -> NIOSSLPrivateKeySource {
        do { return .privateKey(try NIOSSLPrivateKey(file: path, format: .pem)) } catch {}
        throw fault("http.tls.key", path, "cannot be read as a private key in PEM without a passphrase")
    }

    private static func fault(_ key: String, _ value: String?, _ what: String) -> ConfigurationFaults {
        ConfigurationFaults([ConfigurationFault(key: key, value: value, what: what)])
    }

    /// The names and addresses under which browsers of the local network may reach this server.
    private static func names(_ listen: Endpoint) -> [String] {
        var names = ["localhost", "127.0.0.1", "::1", ProcessInfo.processInfo.hostName, listen.host]
        for device in (try? System.enumerateDevices()) ?? [] {
            if let address = device.address?.ipAddress { names.append(address) }
        }
        return names
    }

    private static func selfSigned(for names: [String]) throws(ConfigurationFaults) -> TLSConfiguration {
        do {
            let key = P256.Signing.PrivateKey()
            var alternatives: [GeneralName] = []
            var seen: Set<String> = []
            for name in names where !name.isEmpty && seen.insert(name).inserted {
                switch IPAddress(name) {
                case .v4(let value)?:
                    if value != 0 { alternatives.append(.ipAddress(.init(contentBytes: bytes(UInt64(value), 4)[...]))) }
                case .v6(let high, let low)?:
                    if high | low != 0 {
                        alternatives.append(.ipAddress(.init(contentBytes: (bytes(high, 8) + bytes(low, 8))[...])))
                    }
                case nil:
                    if !name.contains("%") { alternatives.append(.dnsName(name)) }
                }
            }
            let subject = try DistinguishedName { CommonName("Tessera") }
            let now = Date()
            // Browsers refuse certificates that are valid for more than 398 days.
            let certificate = try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
                notValidBefore: now - 3600,
                notValidAfter: now + 397 * 86400, issuer: subject, subject: subject,
                signatureAlgorithm: .ecdsaWithSHA256,
                extensions: try Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    Critical(KeyUsage(digitalSignature: true))
                    try ExtendedKeyUsage([.serverAuth])
                    SubjectAlternativeNames(alternatives)
                }, issuerPrivateKey: .init(key))
            let pem = try certificate.serializeAsPEM().pemString
            return TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.pemRepresentation.utf8), format: .pem)))
        } catch {
            throw fault("http.tls.selfSigned", "true", "no certificate could be made: \(error)")
        }
    }

    private static func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - $0))) }
    }
}
