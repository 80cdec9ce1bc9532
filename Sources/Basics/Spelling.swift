/// Suggestions for mistyped words.
public enum Spelling {
    /// The longest word, in characters, that gets a suggestion; this bounds the work.
    private static let longest = 64

    /// The candidate with the smallest edit distance; nil where it exceeds a third of the word's characters (at least
    /// 2).
    public static func nearest(_ word: String, among candidates: [String]) -> String? {
        guard word.utf8.count <= longest * 4, word.count <= longest else { return nil }
        let limit = max(2, word.count / 3)
        let ranked = candidates.map { ($0, distance(word.lowercased(), $0.lowercased())) }.filter { $0.1 <= limit }
        return ranked.min { ($0.1, $0.0) < ($1.1, $1.0) }?.0
    }

    /// The Levenshtein distance.
    static func distance(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first), Array(second))
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
}
