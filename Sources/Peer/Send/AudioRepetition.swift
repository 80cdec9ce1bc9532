/// How audio is sent more than once, so that a lost packet is heard from a later one.
public enum AudioRepetition: Hashable, Sendable {
    /// Each packet goes out once.
    case none
    /// Each packet carries the payloads of earlier ones too (RFC 2198 §3): of those that went out so many packets before
    /// it. The distances rise and are at most `AudioRepetition.farthest`.
    case copies([Int])
    /// Each packet goes out again, byte for byte, after the next one: for peers that accept no redundant audio.
    case doubled

    /// Copies of the packets 1, 2 and 4 before: three bursts of up to three packets cannot take all of them.
    public static let farthest = 4

    /// The distances of the copies.
    var distances: [Int] {
        guard case .copies(let distances) = self else { return [] }
        return distances
    }
}
