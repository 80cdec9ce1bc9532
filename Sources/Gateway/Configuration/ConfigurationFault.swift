/// One thing that is wrong with the settings, in words for whoever wrote them.
public struct ConfigurationFault: Sendable, Equatable, CustomStringConvertible {
    /// `rooms.width`, `TESSERA_ROOMS_WIDTH`, `--listen`.
    public var key: String
    /// As written; nil where there is none, or it is a secret.
    public var value: String?
    /// What is wrong and what is allowed.
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

/// All faults at once: whoever mends them wants to know of every one.
public struct ConfigurationFaults: Error, Sendable, CustomStringConvertible {
    public var faults: [ConfigurationFault]

    public init(_ faults: [ConfigurationFault]) { self.faults = faults }

    public var description: String { faults.map(\.description).joined(separator: "\n") }

    /// `EX_CONFIG` of sysexits.h.
    public static let exitStatus: Int32 = 78
}
