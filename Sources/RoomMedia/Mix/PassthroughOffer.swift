import Basics

/// Which participant's picture a view shows as it came: one that alone fills it, with nothing drawn over it, for long
/// enough that the change to it and back is worth its keyframes. A value.
struct PassthroughOffer: Sendable {
    /// A view must have shown the picture alone for so long.
    static let delay = Duration.seconds(2)
    /// Frames that could not go on are not tried again for this time at first, and for twice as long after each
    /// further fault, up to `longestPause`.
    static let (firstPause, longestPause) = (Duration.seconds(15), Duration.seconds(600))
    /// A camera without frames for this time is shown as frozen, which the mix draws.
    static let silence = Duration.milliseconds(1500)

    private static let mostRefused = 64

    private var picture: String?
    private var since = Instant.distantPast
    private var refused: [String: (until: Instant, pause: Duration)] = [:]

    /// Takes the picture that the view shows alone now; nil: it shows none alone. Returns whether another was offered.
    mutating func follow(_ picture: String?, at now: Instant) -> Bool {
        guard picture != self.picture else { return false }
        let ends = offered(at: now) != nil
        (self.picture, since) = (picture, now)
        return ends
    }

    func offered(at now: Instant) -> String? {
        guard let picture, now - since >= Self.delay, refused[picture].map({ now >= $0.until }) ?? true else {
            return nil
        }
        return picture
    }

    mutating func refuse(_ picture: String, at now: Instant) {
        // Of those who have left, and are as many as nobody sees alone.
        if refused.count >= Self.mostRefused { refused = refused.filter { $0.value.until > now } }
        let pause = refused[picture].map { min($0.pause * 2, Self.longestPause) } ?? Self.firstPause
        refused[picture] = (now + pause, pause)
    }
}
