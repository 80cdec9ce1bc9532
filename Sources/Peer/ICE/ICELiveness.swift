import Basics

/// Whether the peer is still there and wants our media: by authentic checks, which are its consent (RFC 7675 §5.1), and
/// by its media.
struct ICELiveness: Sendable {
    private let interruptedAfter: Duration
    private let consentTimeout: Duration
    /// The latest authentic check or response; before any, when the waiting began.
    private var lastConsent: Instant
    private var lastMedia: Instant
    /// Nothing came for a while.
    private(set) var isInterrupted = false
    /// No check came for so long that the peer does not want our media any more.
    private(set) var isExpired = false

    init(_ configuration: ICEConfiguration, at now: Instant) {
        interruptedAfter = configuration.interruptedAfter
        consentTimeout = configuration.consentTimeout
        lastConsent = now
        lastMedia = now
    }

    /// When the latest authentic check, response or media came.
    var lastHeard: Instant { max(lastConsent, lastMedia) }

    /// An authentic check or response came; true when that ends an interruption.
    mutating func consented(at now: Instant) -> Bool {
        lastConsent = max(lastConsent, now)
        return recover()
    }

    /// Authentic media came; true when that ends an interruption.
    mutating func heardMedia(at now: Instant) -> Bool {
        lastMedia = now
        return recover()
    }

    private mutating func recover() -> Bool {
        defer { isInterrupted = false }
        return isInterrupted
    }

    /// ICE begins anew, and the waiting with it.
    mutating func restart(at now: Instant) {
        isExpired = false
        lastConsent = max(lastConsent, now)
    }

    /// Whether an interruption begins now; only where there was a path.
    mutating func interrupts(hasPath: Bool, at now: Instant) -> Bool {
        guard !isInterrupted, hasPath, now - lastHeard >= interruptedAfter else { return false }
        isInterrupted = true
        return true
    }

    /// Whether consent expires now.
    mutating func expires(at now: Instant) -> Bool {
        guard !isExpired, now - lastConsent >= consentTimeout else { return false }
        isExpired = true
        return true
    }

    /// When an interruption may begin or consent expire.
    func deadline(hasPath: Bool) -> Instant {
        let expiry = lastConsent + consentTimeout
        return isInterrupted || !hasPath ? expiry : min(expiry, lastHeard + interruptedAfter)
    }
}
