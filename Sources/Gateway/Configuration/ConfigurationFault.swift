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

/// The candidate that a mistyped word most likely means: the nearest by edits, if near at all.
func suggestion(for word: String, among candidates: [String]) -> String? {
    let limit = max(2, word.count / 3)
    let ranked = candidates.map { ($0, editDistance(word.lowercased(), $0.lowercased())) }.filter { $0.1 <= limit }
    return ranked.min { ($0.1, $0.0) < ($1.1, $1.0) }?.0
}

/// Levenshtein's distance. Words longer than 64 characters are cut: nobody mistypes those.
func editDistance(_ first: String, _ second: String) -> Int {
    let first = Array(first.prefix(64))
    let second = Array(second.prefix(64))
    var row = Array(0...second.count)
    for (line, character) in first.enumerated() {
        var diagonal = row[0]
        row[0] = line + 1
        for column in second.indices {
            let substituted = diagonal + (second[column] == character ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(substituted, row[column] + 1, diagonal + 1)
        }
    }
    return row[second.count]
}
