import Basics
import Cryptography
package import FoundationEssentials
import NIOCore
package import NIOSSL

/// The certificate for HTTPS: from PEM files, or generated at the start.
package enum ServerCertificate {
    /// nil without TLS.
    package static func configuration(_ settings: TesseraConfiguration.HTTP) throws(ConfigurationFaults)
        -> TLSConfiguration?
    {
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
    package static func expiry(of configuration: TLSConfiguration) -> Date? {
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
        // Browsers refuse certificates that are valid for more than 398 days. Their clocks may be an hour late.
        let validity = -3600..<397 * 86_400
        do {
            let made = try SelfSignedCertificate(
                .p256, .init(commonName: "Tessera", validity: validity, serverNames: alternatives(names)))
            return TLSConfiguration.makeServerConfiguration(
                certificateChain: [.certificate(try NIOSSLCertificate(bytes: try made.certificateDER(), format: .der))],
                privateKey: .privateKey(try NIOSSLPrivateKey(bytes: try made.keyDER(), format: .der)))
        } catch {
            throw fault("http.tls.selfSigned", "true", "no certificate could be made: \(error)")
        }
    }

    /// The subject's alternative names (RFC 6125 §6.4): addresses are compared as such, other names by DNS.
    static func alternatives(_ names: [String]) -> [SelfSignedCertificate.Name] {
        var alternatives: [SelfSignedCertificate.Name] = []
        for name in names {
            let alternative: SelfSignedCertificate.Name
            switch IPAddress(name) {
            case .v4(0)?, .v6(0, 0)?: continue
            case .v4(let value)?: alternative = .address(bytes(UInt64(value), 4))
            case .v6(let high, let low)?: alternative = .address(bytes(high, 8) + bytes(low, 8))
            case nil:
                // Neither an address with a zone, nor what is no name in DNS.
                guard (1...253).contains(name.utf8.count), name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                    !name.contains("%")
                else { continue }
                alternative = .dns(name)
            }
            if !alternatives.contains(alternative) { alternatives.append(alternative) }
        }
        return alternatives
    }

    private static func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - $0))) }
    }
}
