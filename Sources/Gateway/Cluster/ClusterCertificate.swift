import Cluster
import NIOSSL

/// TLS between nodes: each side shows the certificate of `cluster.tls`, and verifies the other's.
enum ClusterCertificate {
    /// nil: the internal listener speaks plain HTTP.
    static func server(_ settings: ClusterSettings.TLS) throws(ConfigurationFaults) -> TLSConfiguration? {
        guard !settings.certificate.isEmpty else { return nil }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try chain(settings.certificate), privateKey: try key(settings.key))
        // Asks for the peer's certificate; a name in it proves nothing, since peers connect from any address.
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = try roots(settings)
        configuration.applicationProtocols = ["http/1.1"]
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }

    static func client(_ settings: ClusterSettings.TLS) throws(ConfigurationFaults) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = try roots(settings)
        configuration.minimumTLSVersion = .tlsv12
        if !settings.certificate.isEmpty {
            configuration.certificateChain = try chain(settings.certificate)
            configuration.privateKey = try key(settings.key)
        }
        return configuration
    }

    private static func roots(_ settings: ClusterSettings.TLS) throws(ConfigurationFaults) -> NIOSSLTrustRoots {
        if settings.authority.isEmpty { return .default }
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(settings.authority)
            if !certificates.isEmpty { return .certificates(certificates) }
        } catch {}
        throw fault("cluster.tls.authority", settings.authority, "cannot be read as certificates in PEM")
    }

    private static func chain(_ path: String) throws(ConfigurationFaults) -> [NIOSSLCertificateSource] {
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(path)
            if !certificates.isEmpty { return certificates.map { .certificate($0) } }
        } catch {}
        throw fault(
            "cluster.tls.certificate", path, "cannot be read as certificates in PEM, the node's own first")
    }

    private static func key(_ path: String) throws(ConfigurationFaults) -> NIOSSLPrivateKeySource {
        do { return .privateKey(try NIOSSLPrivateKey(file: path, format: .pem)) } catch {}
        throw fault("cluster.tls.key", path, "cannot be read as a private key in PEM without a passphrase")
    }

    static func fault(_ key: String, _ value: String?, _ what: String) -> ConfigurationFaults {
        ConfigurationFaults([ConfigurationFault(key: key, value: value, what: what)])
    }
}
