package import NIOSSL

/// TLS towards etcd and between nodes: each side shows the certificate of `cluster.tls`, and verifies the other's.
extension ClusterSettings.TLS {
    /// How this node reaches etcd and other nodes.
    package func client() throws(ClusterFault) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = try roots()
        configuration.minimumTLSVersion = .tlsv12
        if !certificate.isEmpty {
            configuration.certificateChain = try chain()
            configuration.privateKey = try privateKey()
        }
        return configuration
    }

    /// How other nodes reach this one; nil: the internal listener speaks plain HTTP.
    package func server() throws(ClusterFault) -> TLSConfiguration? {
        guard !certificate.isEmpty else { return nil }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try chain(), privateKey: try privateKey())
        // Asks for the peer's certificate; a name in it proves nothing, since peers connect from any address.
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = try roots()
        configuration.applicationProtocols = ["http/1.1"]
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }

    private func roots() throws(ClusterFault) -> NIOSSLTrustRoots {
        if authority.isEmpty { return .default }
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(authority)
            if !certificates.isEmpty { return .certificates(certificates) }
        } catch {}
        throw ClusterFault(
            key: "cluster.tls.authority", value: authority,
            what: "cannot be read as certificates in PEM; name a file that has them")
    }

    private func chain() throws(ClusterFault) -> [NIOSSLCertificateSource] {
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(certificate)
            if !certificates.isEmpty { return certificates.map { .certificate($0) } }
        } catch {}
        throw ClusterFault(
            key: "cluster.tls.certificate", value: certificate,
            what: "cannot be read as certificates in PEM; name a file that has them, the node's own first")
    }

    private func privateKey() throws(ClusterFault) -> NIOSSLPrivateKeySource {
        do { return .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)) } catch {}
        throw ClusterFault(
            key: "cluster.tls.key", value: key,
            what: "cannot be read as a private key in PEM without a passphrase; name a file that has one")
    }
}
