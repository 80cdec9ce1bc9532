import Basics

/// The clockwork of an `ICEAgent`.
public struct ICEConfiguration: Sendable {
    /// RFC 7675 §5.1: without an authentic check for so long, the peer no longer wants our media.
    public var consentTimeout: Duration = .seconds(30)
    /// When to tell people that the link is interrupted. Firefox checks every 4.65 to 5.92 s; media counts too.
    public var interruptedAfter: Duration = .seconds(6)
    /// Flows remembered per peer; the oldest that is not selected goes first.
    public var pathLimit = 8
    /// Pairs that a controlling agent checks at most (RFC 8445 §6.1.2.5 recommends 100).
    public var pairLimit = 64
    /// RFC 8445 §14.2.
    public var pacing: Duration = .milliseconds(50)
    /// The first retransmission of a check; doubles up to `maximumRetransmission`. Below RFC 8445's 500 ms: most paths
    /// answer in 100 ms.
    public var firstRetransmission: Duration = .milliseconds(250)
    /// The interval between two sendings of a check does not grow beyond this.
    public var maximumRetransmission: Duration = .seconds(2)
    /// Sendings of one check before its pair rests.
    public var attempts = 7
    /// How long to wait for a better pair once one answers.
    public var nominationDelay: Duration = .milliseconds(150)
    /// Consent checks, times 0.8 to 1.2 (RFC 7675 §5.1 names 5 s; half of it notices a dead path twice as fast).
    public var consentInterval: Duration = .milliseconds(2500)
    /// Media on the selected flow so recently keeps it selected against a mere nomination (Firefox nominates all that
    /// it checks).
    public var mediaKeepsSelection: Duration = .seconds(2)
    /// Without media on the selected flow for so long, media on another one moves the selection.
    public var mediaMovesSelection: Duration = .milliseconds(200)
    /// Replies per second and source: a browser needs 20, and 4 flows may share an address.
    public var repliesPerSecond = 100.0
    /// Refusals (400, 401) per second and source: they prove nothing about who asked.
    public var refusalsPerSecond = 5.0
    /// Of a lite agent's own checks of a path: so many sendings, the intervals doubling from `firstRetransmission`,
    /// then none until the next authentic request and `maximumRetransmission` later. A spoofed source gets no more than
    /// these and the replies.
    public var pathCheckAttempts = 5
    /// RFC 9000 §8.1 lets a server send three times what came from an address that has not answered yet; so do we.
    public var unansweredFactor = 3

    /// The usual times and limits.
    public init() {}
}

/// What an `ICEAgent` tells its owner.
package enum ICEEvent: Hashable, Sendable {
    /// Send on this flow from now on. Nothing else changes: same DTLS, same SRTP.
    case selected(Flow)
    /// Nothing authentic for a while; it may come back.
    case interrupted
    case recovered
    /// The first check with new credentials came: the old user name fragment is void.
    case oldCredentialsExpired
    /// The peer is gone, or never came: consent has expired. Final until `restart`.
    case expired
}

/// One way between us and the peer, and what is known about it.
struct ICEPath: Sendable {
    /// RFC 8445 §6.1.2.6, for a controlling agent.
    enum Check: Sendable {
        case waiting(since: Instant)
        case running(ICETransaction)
        case succeeded
        /// Not checked by us: an agent that only answers.
        case none
    }

    var flow: Flow
    var priority: UInt64 = 0
    var check = Check.none
    /// An authentic request came, or an authentic response.
    var isValidated = false
    /// A check of our own was answered here, so what we send to this address reaches the peer: a source address can be
    /// forged, the answer to 96 random bits cannot.
    var isAnswered = false
    /// Authentic bytes that came, and bytes that went before an answer.
    var received = 0
    var sentUnanswered = 0
    var isNominated = false
    /// When the latest authentic check or response came.
    var lastAlive: Instant
    var lastMedia: Instant?
    var created: Instant
    /// Consent checks without retransmission that wait for a response, oldest first.
    var consentChecks: [ICETransaction] = []
    var nextConsent: Instant?
}

/// A check of ours under way.
struct ICETransaction: Sendable {
    var id: STUNMessage.TransactionID
    var bytes: [UInt8]
    var firstSent: Instant
    var nextSend: Instant
    var interval: Duration
    var sendings: Int
    var nominates: Bool
    /// The role that it claimed.
    var asControlling: Bool
}
