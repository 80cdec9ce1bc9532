import Basics

/// What a link carries at least, by the flights of the DTLS handshake: our certificate and the peer's, over the time that
/// the answer took beyond a round trip. Only where the peer begins (RFC 5763 §5): its first flight is small.
///
/// Sending begins with that on the thinnest links. A start rate far above it would fill the queue before anything was
/// measured, and nothing would tell later that it is a queue and no longer link.
struct HandshakeRate: Sendable {
    /// A higher rate says more of the peer's machine than of the link.
    static let thin = 80_000.0
    /// After so long a flight was lost and sent again.
    static let longest: Duration = .milliseconds(900)
    /// Two datagrams that came this fast after each other, in bit/s, show that the link is not thin, whatever took the
    /// time. A browser's first flight has two.
    static let fast = 200_000.0
    /// Smaller ones show nothing.
    private static let leastOfPair = 100
    /// The heads of IPv4 and UDP, of each datagram.
    private static let overhead = 28

    private var asked: Instant?
    private var isAnswered = false
    private var bytes = 0
    private var latest: Instant?
    private var isFast = false

    mutating func received(_ count: Int, at now: Instant) {
        let bits = Double((count + Self.overhead) * 8)
        if let latest, count >= Self.leastOfPair, bits > Self.fast * (now - latest).inSeconds { isFast = true }
        latest = now
        guard asked != nil else {
            asked = now
            return
        }
        isAnswered = true
        // With what came again: browsers repeat their first flight after 50 ms, and the answer waits behind that.
        bytes += count + Self.overhead
    }

    /// Ours counts once.
    mutating func sent(_ count: Int) {
        if asked != nil, !isAnswered { bytes += count + Self.overhead }
    }

    /// The rate, at the end of the handshake, in bit/s; nil where the link is not thin, or nothing is known.
    ///
    /// - Parameter path: the round trip of a small packet on the empty link.
    func rate(path: Duration?, at now: Instant) -> Double? {
        guard !isFast, let asked, let path, now - asked < Self.longest, now - asked > path else { return nil }
        let rate = Double(bytes * 8) / (now - asked - path).inSeconds
        return rate < Self.thin ? rate : nil
    }
}
