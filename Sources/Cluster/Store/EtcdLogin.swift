import Basics

/// The token that a node's calls of etcd carry, and when etcd is asked for another one: one login at a time for all
/// tasks of the node. Time and etcd's answers go in.
///
/// A login costs a member of etcd some 50 ms of one processor (bcrypt), which it goes on computing where the node has
/// given up. After a restart of etcd every token is void at once: nodes that asked again and again would keep its
/// processors busy for nothing.
struct EtcdLogin: Sendable {
    /// How long the first login may take, and one after others that failed. A member that hangs is left after the first.
    static let (firstLimit, lastLimit) = (Duration.seconds(4), Duration.seconds(30))
    /// From a failed login to the next one, the first time and at most; each is half as long to half as long again.
    static let (firstPause, lastPause) = (Duration.milliseconds(250), Duration.seconds(4))
    /// A token that is refused so soon after it was given says that the next one will be, too.
    static let trial = Duration.seconds(5)
    /// Rounds of calls, one after the other, that members took and did not answer, after which another token is asked for
    /// beside the present one. A token has the raft index at which it was given, and a member waits for that index: one
    /// that has begun anew with no data (an etcd that was lost) waits for a long time.
    static let silentRounds = 2

    /// What calls carry; nil: they wait.
    private(set) var token: String?
    private var givenAt = BootInstant.distantPast
    /// Whether another token is wanted beside this one.
    private var isWanted = false
    private(set) var isAsking = false
    private var failures = 0
    private var next = BootInstant.distantPast
    private var silent = 0

    /// How long the login that begins now may take.
    var limit: Duration { min(Self.lastLimit, Self.firstLimit * (1 << min(failures, 5))) }

    /// When the next login is to begin; nil: one runs, or none is wanted.
    var due: BootInstant? { isAsking || token != nil && !isWanted ? nil : next }

    /// Whether a login begins now: `given` or `failed` ends it.
    mutating func begin(at now: BootInstant) -> Bool {
        guard let due, now >= due else { return false }
        isAsking = true
        return true
    }

    mutating func given(_ token: String, at now: BootInstant) {
        (self.token, givenAt, isAsking, isWanted, silent) = (token, now, false, false, 0)
    }

    mutating func failed(at now: BootInstant, _ random: inout some RandomNumberGenerator) {
        isAsking = false
        pause(at: now, &random)
    }

    /// A member does not take a token any more.
    mutating func refused(_ token: String, at now: BootInstant, _ random: inout some RandomNumberGenerator) {
        // Another task was faster.
        guard self.token == token else { return }
        self.token = nil
        if now - givenAt < Self.trial { pause(at: now, &random) } else { (failures, next) = (0, now) }
    }

    /// A member has answered a call.
    mutating func answered() { (failures, silent, isWanted) = (0, 0, false) }

    /// Members took a call, and none of them answered it.
    mutating func unanswered() {
        silent += 1
        if silent >= Self.silentRounds { isWanted = true }
    }

    private mutating func pause(at now: BootInstant, _ random: inout some RandomNumberGenerator) {
        failures += 1
        let pause = min(Self.lastPause, Self.firstPause * (1 << min(failures - 1, 5)))
        next = now + .milliseconds(Int(pause.inMilliseconds * Double.random(in: 0.5...1.5, using: &random)))
    }
}
