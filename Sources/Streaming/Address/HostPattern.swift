package import Basics

/// One entry of a list of permitted hosts.
package enum HostPattern: Hashable, Sendable, CustomStringConvertible {
    /// `*`: every host with public addresses.
    case everyPublic
    /// `live.example`: the name, whatever its address.
    case name(String)
    /// `*.example`: all names below this one.
    case below(String)
    /// `10.1.0.0/16` or `192.0.2.1`: the addresses, by whatever name.
    case network(IPNetwork)

    /// Reads one of the forms above; nil for anything else.
    package init?(_ text: String) {
        if text == "*" {
            self = .everyPublic
        } else if let network = IPNetwork(text) {
            self = .network(network)
        } else if text.hasPrefix("*."), MediaURL.isName(String(text.dropFirst(2)).lowercased()) {
            self = .below(text.dropFirst(1).lowercased())
        } else if MediaURL.isName(text.lowercased()) {
            self = .name(text.lowercased())
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .everyPublic: "*"
        case .name(let name): name
        case .below(let suffix): "*" + suffix
        case .network(let network): "\(network)"
        }
    }

    func matches(name: String) -> Bool {
        // The absolute form of a name is the same host.
        let name = name.hasSuffix(".") ? String(name.dropLast()) : name
        return switch self {
        case .name(let known): known == name
        case .below(let suffix): name.hasSuffix(suffix)
        case .everyPublic, .network: false
        }
    }
}
