package import Basics

/// Times and limits of an `ICEAgent`.
public struct ICEConfiguration: Sendable {
    /// RFC 7675 §5.1: without a sign of consent for this long, the peer no longer consents to our media. Signs are
    /// authentic checks and responses, and for a lite agent authentic media.
    public var consentTimeout: Duration = .seconds(30)
    /// The silence after which the link is reported as interrupted. Firefox checks every 4.65 to 5.92 s; media counts
    /// too.
    public var interruptedAfter: Duration = .seconds(6)
    /// Flows remembered per peer; the oldest that is not selected is removed first.
    public var pathLimit = 8
    /// The most pairs that a controlling agent checks (RFC 8445 §6.1.2.5 recommends 100).
    public var pairLimit = 64
    /// The time between two checks (RFC 8445 §14.2).
    public var pacing: Duration = .milliseconds(50)
    /// The wait before the first retransmission of a check; it doubles up to `maximumRetransmission`. Below RFC 8445's
    /// 500 ms: most paths answer in 100 ms.
    public var firstRetransmission: Duration = .milliseconds(250)
    /// The longest interval between two transmissions of a check.
    public var maximumRetransmission: Duration = .seconds(2)
    /// Transmissions of one check before its pair pauses.
    public var attempts = 7
    /// How long to wait for a better pair once one has answered.
    public var nominationDelay: Duration = .milliseconds(150)
    /// The interval of consent checks, times 0.8 to 1.2 (RFC 7675 §5.1 names 5 s; half of it notices a dead path twice
    /// as fast).
    public var consentInterval: Duration = .milliseconds(2500)
    /// A lite agent asks for consent itself when no check of the peer came for this long (RFC 7675 §5.1 has 5 s):
    /// libnice without consent freshness sends none after nomination, only keepalives (RFC 8445 §11).
    public var consentCheckAfter: Duration = .seconds(5)
    /// If media came on the selected flow within this time, a nomination alone does not move the selection (Firefox
    /// nominates every pair that it checks).
    public var mediaKeepsSelection: Duration = .seconds(2)
    /// After this time without media on the selected flow, media on another one moves the selection.
    public var mediaMovesSelection: Duration = .milliseconds(200)
    /// Replies per second and source: a browser needs 20, and 4 flows may share an address.
    public var repliesPerSecond = 100.0
    /// Refusals (400, 401) per second and source: they are sent to senders that proved nothing.
    public var refusalsPerSecond = 5.0
    /// Transmissions of a lite agent's own check of a path, at intervals that double from `firstRetransmission`; then
    /// none until the next authentic request at least `maximumRetransmission` later. A spoofed source gets no more than
    /// these and the replies.
    public var pathCheckAttempts = 5
    /// RFC 9000 §8.1 lets a server send three times what came from an address that is not validated; the same holds
    /// here.
    public var unansweredFactor = 3

    /// The default times and limits.
    public init() {}
}

/// What an `ICEAgent` reports to its owner.
package enum ICEEvent: Hashable, Sendable {
    /// The flow to send on from now on. DTLS and SRTP stay the same.
    case selected(Flow)
    /// Nothing authentic came for a while; the peer may return.
    case interrupted
    case recovered
    /// The first check with new credentials came: the old user name fragment is invalid.
    case oldCredentialsExpired
    /// Consent has expired: the peer is gone, or never came. Final until `restart`.
    case expired
}

/// One path between us and the peer, and its state.
struct ICEPath: Sendable {
    /// RFC 8445 §6.1.2.6, for a controlling agent.
    enum Check: Sendable {
        case waiting(since: Instant)
        case running(ICETransaction)
        case succeeded
        /// The agent does not check this path.
        case none
    }

    var flow: Flow
    var priority: UInt64 = 0
    var check = Check.none
    /// An authentic request or response came on this path.
    var isValidated = false
    /// A check of ours was answered here, so what we send to this address reaches the peer: a source address can be
    /// forged, an answer with our 96 random bits cannot.
    var isAnswered = false
    /// Authentic bytes received, and bytes sent before an answer.
    var received = 0
    var sentUnanswered = 0
    var isNominated = false
    /// When the latest authentic check or response came.
    var lastAlive: Instant
    var lastMedia: Instant?
    /// When the latest authentic check, response or media came.
    var lastSign: Instant { max(lastAlive, lastMedia ?? .distantPast) }
    var created: Instant
    /// Consent checks without retransmission that wait for a response, oldest first.
    var consentChecks: [ICETransaction] = []
    var nextConsent: Instant?
}

/// A check of ours that is in progress.
struct ICETransaction: Sendable {
    var id: STUNMessage.TransactionID
    var bytes: [UInt8]
    var firstSent: Instant
    var nextSend: Instant
    var interval: Duration
    var sendings: Int
    var nominates: Bool
    /// Whether the check claimed the controlling role.
    var asControlling: Bool
}
