package import Cluster

/// One fault of the settings, in words for the person who wrote them.
package struct ConfigurationFault: Sendable, Equatable, CustomStringConvertible {
    /// `rooms.width`, `TESSERA_ROOMS_WIDTH`, `--listen`.
    package var key: String
    /// The value as written; nil where there is none, or it is a secret.
    package var value: String?
    /// The fault and the allowed values.
    package var what: String
    /// `tessera.yaml:12`, where known.
    package var place: String?

    package init(key: String, value: String?, what: String, place: String? = nil) {
        self.key = key
        self.value = value
        self.what = what
        self.place = place
    }

    package var description: String {
        let subject = value.map { "\(key): \($0)" } ?? key
        return "\(subject): \(what)" + (place.map { " (\($0))" } ?? "")
    }
}

/// All faults of the settings together, so that one start shows them all.
package struct ConfigurationFaults: Error, Sendable, CustomStringConvertible {
    package var faults: [ConfigurationFault]

    package init(_ faults: [ConfigurationFault]) { self.faults = faults }

    package init(_ key: String, _ value: String?, _ what: String) {
        self.init([ConfigurationFault(key: key, value: value, what: what)])
    }

    package init(_ fault: ClusterFault) { self.init(fault.key, fault.value, fault.what) }

    package var description: String { faults.map(\.description).joined(separator: "\n") }

    /// `EX_CONFIG` of sysexits.h.
    package static let exitStatus: Int32 = 78
}
