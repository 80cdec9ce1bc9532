/// How audio is sent more than once, so that a lost packet is heard from a later one.
public enum AudioRepetition: Hashable, Sendable {
    /// Each packet goes out once.
    case none
    /// Each packet carries the payloads of earlier ones too (RFC 2198 §3): of those that went out so many packets before
    /// it. With distances of 1, 2 and 4 a burst that takes three packets leaves a copy of each.
    case copies([Int])
    /// Each packet goes out again, byte for byte, after the next one: for peers that accept no redundant audio.
    case doubled

    /// The distances of the copies, rising; none is below 1.
    var distances: [Int] {
        guard case .copies(let distances) = self else { return [] }
        return distances.filter { $0 > 0 }.sorted()
    }
}
