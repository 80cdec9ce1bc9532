import Basics

/// Whether the peer is reachable and wants our media: by authentic checks, which are its consent (RFC 7675 §5.1), and
/// by its authentic media. For a lite agent media is consent too: see <doc:ICE>.
struct ICELiveness: Sendable {
    private let interruptedAfter: Duration
    private let consentTimeout: Duration
    private let mediaIsConsent: Bool
    /// The latest sign of consent; before the first one, the time of the start.
    private var lastConsent: Instant
    private var lastMedia: Instant
    /// Whether nothing came for `interruptedAfter`.
    private(set) var isInterrupted = false
    /// Whether no sign of consent came for `consentTimeout`.
    private(set) var isExpired = false

    /// - Parameter mediaIsConsent: whether authentic media, too, keeps consent from expiring.
    init(_ configuration: ICEConfiguration, mediaIsConsent: Bool, at now: Instant) {
        self.mediaIsConsent = mediaIsConsent
        interruptedAfter = configuration.interruptedAfter
        consentTimeout = configuration.consentTimeout
        lastConsent = now
        lastMedia = now
    }

    /// When the latest authentic check, response or media came.
    var lastReceived: Instant { max(lastConsent, lastMedia) }

    /// Records an authentic check or response; true if that ends an interruption.
    mutating func noteConsent(at now: Instant) -> Bool {
        lastConsent = max(lastConsent, now)
        return recover()
    }

    /// Records authentic media; true if that ends an interruption.
    mutating func noteMedia(at now: Instant) -> Bool {
        lastMedia = now
        if mediaIsConsent { lastConsent = max(lastConsent, now) }
        return recover()
    }

    private mutating func recover() -> Bool {
        defer { isInterrupted = false }
        return isInterrupted
    }

    /// Restarts the wait for consent, at an ICE restart.
    mutating func restart(at now: Instant) {
        isExpired = false
        lastConsent = max(lastConsent, now)
    }

    /// Begins an interruption if one is due; only if there was a path.
    mutating func interruptIfDue(hasPath: Bool, at now: Instant) -> Bool {
        guard !isInterrupted, hasPath, now - lastReceived >= interruptedAfter else { return false }
        isInterrupted = true
        return true
    }

    /// Ends consent if that is due.
    mutating func expireIfDue(at now: Instant) -> Bool {
        guard !isExpired, now - lastConsent >= consentTimeout else { return false }
        isExpired = true
        return true
    }

    /// When an interruption may begin or consent may expire.
    func deadline(hasPath: Bool) -> Instant {
        let expiry = lastConsent + consentTimeout
        return isInterrupted || !hasPath ? expiry : min(expiry, lastReceived + interruptedAfter)
    }
}
