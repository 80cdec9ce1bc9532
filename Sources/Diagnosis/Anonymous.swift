package import Basics
package import WebServer

/// What is taken out of texts and JSON before they go into a report.
package enum Anonymous {
    package static let removed = "(removed)"

    /// Members whose values are secrets, or lead into rooms: their names contain one of these.
    private static let secrets = [
        "token", "secret", "pin", "password", "passphrase", "credential", "authorization", "signature", "ufrag", "pwd",
        "hostkey",
    ]

    /// The address without what tells one customer from another: IPv4 without its last byte, IPv6 without all but the
    /// first 48 bits. Loopback and the unspecified address stay.
    package static func masked(_ address: IPAddress) -> IPAddress {
        switch address.unmapped {
        case let own where own.isLoopback || own.isUnspecified: own
        case .v4(let value): .v4(value & 0xFFFF_FF00)
        case .v6(let high, _): .v6(high & 0xFFFF_FFFF_FFFF_0000, 0)
        }
    }

    /// A text in which every address is masked.
    package static func maskAddresses(in text: String) -> String {
        var result = ""
        var word = ""
        func end() {
            // A colon or a full stop behind an address is the sentence's.
            var tail = ""
            while let last = word.last, last == ":" || last == ".", IPAddress(word) == nil {
                tail = String(last) + tail
                word.removeLast()
            }
            // An address with its port: 192.0.2.1:80.
            let parts = word.split(separator: ":", omittingEmptySubsequences: false)
            if let address = IPAddress(word) {
                result += "\(masked(address))"
            } else if parts.count == 2, let address = IPAddress(parts[0]) {
                result += "\(masked(address)):\(parts[1])"
            } else {
                result += word
            }
            result += tail
            word = ""
        }
        for character in text {
            if character.isHexDigit || character == "." || character == ":" {
                word.append(character)
            } else {
                end()
                result.append(character)
            }
        }
        end()
        return result
    }

    /// JSON without secrets, and with masked addresses unless they are wanted.
    ///
    /// - Parameter keepsAddresses: whether addresses stay as they are.
    package static func json(_ value: JSONValue, keepsAddresses: Bool) -> JSONValue {
        switch value {
        case .string(let text):
            // What stands behind a question mark may let somebody in.
            let plain =
                text.contains("://") || text.hasPrefix("/") ? String(text.prefix { $0 != "?" && $0 != "#" }) : text
            return .string(keepsAddresses ? plain : maskAddresses(in: plain))
        case .array(let items): return .array(items.map { json($0, keepsAddresses: keepsAddresses) })
        case .object(let members):
            return .object(
                Dictionary(
                    uniqueKeysWithValues: members.map { name, value in
                        (name, isSecret(name, value) ? .string(removed) : json(value, keepsAddresses: keepsAddresses))
                    }))
        case .null, .bool, .integer, .number: return value
        }
    }

    private static func isSecret(_ name: String, _ value: JSONValue) -> Bool {
        // `pin: true` says that a room has one.
        switch value {
        case .bool, .null: return false
        default: return secrets.contains { name.lowercased().contains($0) }
        }
    }
}
