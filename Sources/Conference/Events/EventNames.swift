extension ServerEvent.Kind {
    /// The kinds that a name means: one, or with `participant.*` all that begin so. Empty for a name that no kind has.
    package static func named(_ name: some StringProtocol) -> [ServerEvent.Kind] {
        allCases.filter { name.hasSuffix(".*") ? $0.rawValue.hasPrefix(name.dropLast()) : $0.rawValue == name }
    }

    /// The names of all kinds, for faults.
    package static let names = allCases.map(\.rawValue).joined(separator: ", ")
}
