import FoundationEssentials
import WebServer

// What the settings say to the web server.

extension RequestRules {
    /// - Parameter machineName: the result of `gethostname`; an argument for tests.
    package init(_ settings: TesseraConfiguration.HTTP, machineName: String = ProcessInfo.processInfo.hostName) {
        self.init(
            hosts: HostPolicy(settings, machineName: machineName), origins: OriginPolicy(settings),
            trustedProxies: settings.trustedProxies, publicURL: settings.publicURL, usesTLS: settings.tls.isOn)
    }
}

extension HostPolicy {
    /// - Parameter machineName: the result of `gethostname`; an argument for tests.
    package init(_ settings: TesseraConfiguration.HTTP, machineName: String = ProcessInfo.processInfo.hostName) {
        self.init(
            hosts: settings.hosts + (WebOrigin(settings.publicURL).map { [$0.host] } ?? []), machineName: machineName,
            isProvenByTLS: !settings.tls.certificate.isEmpty)
    }
}

extension OriginPolicy {
    package init(_ settings: TesseraConfiguration.HTTP) {
        self.init(
            allowed: settings.allowedOrigins,
            ownHosts: settings.hosts + (WebOrigin(settings.publicURL).map { [$0.host] } ?? []))
    }
}
