import Cluster

/// One fault of the settings, in words for the person who wrote them.
public struct ConfigurationFault: Sendable, Equatable, CustomStringConvertible {
    /// `rooms.width`, `TESSERA_ROOMS_WIDTH`, `--listen`.
    public var key: String
    /// The value as written; nil where there is none, or it is a secret.
    public var value: String?
    /// The fault and the allowed values.
    public var what: String
    /// `tessera.yaml:12`, where known.
    public var place: String?

    public init(key: String, value: String?, what: String, place: String? = nil) {
        self.key = key
        self.value = value
        self.what = what
        self.place = place
    }

    public var description: String {
        let subject = value.map { "\(key): \($0)" } ?? key
        return "\(subject): \(what)" + (place.map { " (\($0))" } ?? "")
    }
}

/// All faults of the settings together, so that one start shows them all.
public struct ConfigurationFaults: Error, Sendable, CustomStringConvertible {
    public var faults: [ConfigurationFault]

    public init(_ faults: [ConfigurationFault]) { self.faults = faults }

    init(_ key: String, _ value: String?, _ what: String) {
        self.init([ConfigurationFault(key: key, value: value, what: what)])
    }

    init(_ fault: ClusterFault) { self.init(fault.key, fault.value, fault.what) }

    public var description: String { faults.map(\.description).joined(separator: "\n") }

    /// `EX_CONFIG` of sysexits.h.
    public static let exitStatus: Int32 = 78
}
