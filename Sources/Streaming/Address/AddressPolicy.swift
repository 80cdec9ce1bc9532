package import Basics

/// Which URLs the server may connect to: the schemes, and the hosts by name and by address.
///
/// A list of hosts permits these alone; an empty one every host with public addresses. What an address is decides where
/// the connection goes, so a name is looked up first, and all its addresses must be permitted.
package struct AddressPolicy: Sendable, Hashable {
    package var schemes: Set<String>
    package var hosts: [HostPattern]
    /// The key of the settings with the hosts, for refusals: `streams.hosts`.
    package var key: String

    package init(schemes: Set<String>, hosts: [HostPattern], key: String) {
        self.schemes = schemes
        self.hosts = hosts
        self.key = key
    }

    /// Throws what can be said against the URL without looking its name up.
    package func check(_ url: MediaURL) throws(StreamingError) {
        guard schemes.contains(url.scheme) else {
            let permitted = schemes.sorted().joined(separator: ", ")
            throw .refused("\(url.scheme):// is not permitted here; permitted are \(permitted).")
        }
        if let address = url.address {
            if !permits(address, of: url.host) { throw refusal(of: url.host, at: address) }
        } else if !hosts.isEmpty, !hosts.contains(.everyPublic), !hosts.contains(where: { $0.matches(name: url.host) }),
            !hosts.contains(where: \.isNetwork)
        {
            throw .refused("\(key) does not list \(url.host).")
        }
    }

    /// Whether a connection to this address of this host is permitted.
    package func permits(_ address: IPAddress, of host: String) -> Bool {
        let isListed = hosts.contains { pattern in
            if case .network(let network) = pattern { return network.contains(address) }
            return pattern.matches(name: host)
        }
        return isListed || (hosts.isEmpty || hosts.contains(.everyPublic)) && address.isPublic
    }

    /// The addresses of the URL's host, all of which are permitted. Blocks while it looks the name up.
    package func resolve(_ url: MediaURL) throws(StreamingError) -> [IPAddress] {
        try check(url)
        if let address = url.address { return [address] }
        let addresses = HostLookup.addresses(of: url.host)
        if addresses.isEmpty { throw .failed("The name \(url.host) has no address.") }
        for address in addresses where !permits(address, of: url.host) { throw refusal(of: url.host, at: address) }
        return addresses
    }

    private func refusal(of host: String, at address: IPAddress) -> StreamingError {
        let what = "\(address)" == host ? host : "\(host) (\(address))"
        return address.isPublic
            ? .refused("\(key) does not list \(what).")
            : .refused("\(what) is no public address: \(key) must list it.")
    }
}

extension HostPattern {
    fileprivate var isNetwork: Bool { if case .network = self { true } else { false } }
}
