/// Random texts for ids and secrets.
enum RandomToken {
    /// Letters and digits that people do not take for one another.
    static let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)

    /// Letters and digits from the system's secure generator, of five bits each.
    static func make(_ count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] },
            as: UTF8.self)
    }
}
