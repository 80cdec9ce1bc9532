import Basics

/// One headless participant as a state machine: messages and times in, actions out. It keeps the call across lost
/// connections, dead servers and moves. No socket, clock or media inside.
///
/// An *attachment* is one signalling connection, a *leg* one media connection; both have numbers that only grow. A leg
/// outlives its attachment where the server resumes the seat.
struct CallSession {
    /// What shows a server which seat the participant has had.
    struct Ticket: Equatable, Sendable {
        var id: String
        var secret: String
    }

    enum Action: Equatable {
        /// Opens signalling and joins, with a ticket where there is one.
        case open(attachment: Int, Ticket?)
        /// Makes a leg, and sends its offer and the participant's state.
        case offer(attachment: Int, leg: Int)
        /// Sends the participant's state alone, which the server may have missed while there was no signalling.
        case tellState(attachment: Int)
        case ping(attachment: Int)
        /// Sends `leave` and closes.
        case leave(attachment: Int)
        /// Closes without a word.
        case drop(attachment: Int)
        case close(leg: Int)
        /// A sentence for the user.
        case say(String)
        /// An event of the connection, for measurements.
        case note(String)
        /// The call is over; with the reason where it failed.
        case end(failure: String?)
    }

    /// The time for an attachment to be joined: a join may wait five seconds for its turn.
    static let answerWithin = Duration.seconds(8)
    /// The same for one that comes back, whose machine may be gone.
    static let answerAgainWithin = Duration.seconds(4)
    /// How long there may be no media, or no message, before the server is asked for a sign of life.
    static let mediaSilence = Duration.milliseconds(2500), messageSilence = Duration.seconds(4)
    static let signWithin = Duration.seconds(2)
    /// How long the participant tries to come back.
    static let patience = Duration.seconds(60)
    /// Refused joins of one that has not been in the call.
    static let maxAttempts = 10
    /// How long the old connection of a move stays, for the others who have not changed over yet.
    static let linger = Duration.milliseconds(1500)
    /// The participants of a moving room begin within this time.
    static let spread = Duration.milliseconds(500)
    /// How much later than announced the server may end the old connection of a move, and the longest move.
    static let grace = Duration.seconds(2), longestMove = 120

    private struct Attachment {
        var number: Int
        var leg: Int?
        var openedAt: Instant
        var isOpen = false
        var isJoined = false
        /// Whether a moderator has to let the participant in.
        var isWaiting = false
        var isFlowing = false
        var lastMessage: Instant
        var pingedAt: Instant?
        /// The latest time for a successor to take over.
        var deadline = Instant.distantFuture
    }

    private let random: () -> Double
    private var current: Attachment
    /// The attachment at the server to which the room moves.
    private var next: Attachment?
    /// The attachment that was left in a move, until the time.
    private var old: (number: Int, leg: Int?, until: Instant)?
    private var attachments = 0, legs = 0
    private var ticket: Ticket?
    private var comeback = ReconnectPlan()
    private var refusals = 0
    private var hasBeenIn = false, hasFlowed = false
    /// Whether a moderator had to let the participant in, so that the server has taken its join.
    private var hasWaited = false
    /// The leg is of no use to the next server, even if that has media of this seat: a move that failed may have left
    /// some there.
    private var mustOffer = false
    /// The time without a call began; nil: in the call.
    private var lostAt: Instant?
    /// When a leg that failed is replaced.
    private var offerAt: Instant?
    private var isOver = false

    /// - Parameter random: numbers from 0 to 1.
    init(at now: Instant, random: @escaping () -> Double = { .random(in: 0...1) }) {
        self.random = random
        current = Attachment(number: 0, openedAt: now, lastMessage: now)
    }

    /// Whether the participant is in the call by this attachment.
    func isCurrent(_ number: Int) -> Bool { number == current.number }

    /// What the user of the command can give after these codes.
    private static let advice = [
        "pin_required": ": give it with --pin", "wrong_pin": ": give another one with --pin",
        "unauthorized": ": give a token with --token",
    ]

    // MARK: Inputs

    mutating func start() -> [Action] {
        current.isOpen = true
        return [.open(attachment: 0, nil)]
    }

    /// A message has come, whatever its kind.
    mutating func heard(_ number: Int, at now: Instant) {
        change(number) {
            $0.lastMessage = now
            $0.pingedAt = nil
        }
    }

    /// - Parameter isFresh: whether the server has no media of this seat.
    mutating func joined(_ number: Int, _ seat: Ticket, isFresh: Bool, at now: Instant) -> [Action] {
        guard !isOver else { return [] }
        let isSameSeat = ticket?.id == seat.id
        if number == next?.number { return successorJoined(seat, isFresh: isFresh || !isSameSeat) }
        guard number == current.number else { return [] }
        ticket = seat
        (current.isJoined, current.isWaiting) = (true, false)
        comeback.succeeded()
        lostAt = nil
        let isFirst = !hasBeenIn
        hasBeenIn = true
        if !isFirst { refusals = 0 }
        if isSameSeat, !isFresh, !mustOffer, current.leg != nil {
            return [.note("resumed"), .tellState(attachment: number)]
        }
        let closing = current.leg.map { [Action.close(leg: $0)] } ?? []
        return closing + (isFirst ? [] : [.note("joined again")]) + offer()
    }

    /// A moderator has to let the participant in: at first, or since the seat was lost. Nothing is sent until then, and the
    /// participant waits for as long as the server lets it.
    mutating func waits(_ number: Int) -> [Action] {
        guard !isOver else { return [] }
        if number == next?.number { return giveUpMove("it has to be let in there") }
        guard number == current.number else { return [] }
        let closing = current.leg.map { [Action.close(leg: $0)] } ?? []
        (current.isWaiting, current.leg, current.isFlowing) = (true, nil, false)
        (ticket, lostAt, offerAt) = (nil, nil, nil)
        hasWaited = true
        comeback.succeeded()
        return leaveOld() + closing + [.say("waits to be let in by a moderator, and sends nothing until then")]
    }

    mutating func moving(_ number: Int, within seconds: Int, at now: Instant) -> [Action] {
        guard !isOver, number == current.number, next == nil else { return [] }
        let seconds = max(1, min(seconds, Self.longestMove))
        attachments += 1
        let wait = min(Self.spread, .milliseconds(seconds * 100)) * random()
        next = Attachment(number: attachments, openedAt: now + wait, lastMessage: now)
        next?.deadline = now + .seconds(seconds) + Self.grace
        return [.note("moving within \(seconds) s")]
    }

    mutating func left(_ number: Int, _ reason: String, at now: Instant) -> [Action] {
        guard !isOver else { return [] }
        if number == next?.number { return giveUpMove("the server ended it: \(reason)") }
        guard number == current.number else { return [] }
        switch reason {
        case "moved", "draining", "timeout", "failed":
            if next != nil { return promote() }
            if reason == "timeout" || reason == "failed" { ticket = nil }
            mustOffer = true
            return lose(reason, reason == "moved" ? .moved : .lost, at: now)
        case "replaced" where next != nil: return []
        default:
            isOver = true
            return [.say("the server ended the call: \(reason)"), .end(failure: nil)]
        }
    }

    mutating func refused(
        _ number: Int, code: String, _ text: String, isFatal: Bool, retryAfter: Int?, at now: Instant
    ) -> [Action] {
        // An older server does not know `ping`, or takes none of who waits, and so answers as well.
        let isAnswer = text.contains(" ping;") || number == current.number && current.isWaiting
        guard !isOver, !(code == "bad_message" && isAnswer) else { return [] }
        let words = "\(text) (\(code))" + (Self.advice[code] ?? "")
        let isBusy = code == "too_fast" || code == "overloaded" || (ticket != nil && retryAfter != nil)
        if let next, number == next.number {
            if next.isJoined { return isFatal ? giveUpMove(words) : [.say(words)] }
            guard isBusy else { return giveUpMove(words) }
            self.next = another(for: next, .later(seconds: retryAfter ?? 2), at: now).0
            return [.drop(attachment: number)]
        }
        guard number == current.number else { return [] }
        if !current.isJoined, isBusy {
            refusals += 1
            guard hasBeenIn || refusals < Self.maxAttempts else { return end(words) }
            let delay = reopenCurrent(.later(seconds: retryAfter ?? 2), at: now)
            let words = "\(words); trying again in \(Int(delay.inSeconds.rounded(.up))) s"
            return [.drop(attachment: number), .say(words)]
        }
        if !current.isJoined, ticket != nil {
            // The seat has ended, and this server takes no ticket for another one.
            ticket = nil
            _ = reopenCurrent(.lost, at: now)
            return [.drop(attachment: number), .note("the seat has ended: \(words)")]
        }
        if isFatal || ["bad_sdp", "no_common_codec"].contains(code) || code.hasPrefix("room_") { return end(words) }
        return [.say(words)]
    }

    /// The signalling connection has ended, or could not be opened.
    mutating func closed(_ number: Int, _ why: String?, at now: Instant) -> [Action] {
        guard !isOver else { return [] }
        if let next, number == next.number {
            self.next = another(for: next, .lost, at: now).0
            return [.drop(attachment: number)]
        }
        guard number == current.number else { return [] }
        if next != nil { return promote() }
        let words = why ?? "the server closed the signalling connection"
        guard comesBack else { return end(words) }
        return lose(words, .lost, at: now)
    }

    /// A leg has ended.
    mutating func ended(leg: Int, _ why: String, at now: Instant) -> [Action] {
        guard !isOver else { return [] }
        if leg == next?.leg { return giveUpMove(why) }
        guard leg == current.leg else { return [] }
        guard hasFlowed else { return end(why) }
        guard offerAt == nil else { return [] }
        // The server may have ended the seat, and says so in a moment.
        offerAt = now + .milliseconds(500) + comeback.delay(.lost, random: random())
        return [.note("media ended: \(why)")]
    }

    /// Picture and audio come by this leg.
    mutating func flowing(leg: Int, _ gaps: Changeover.Gaps?, at now: Instant) -> [Action] {
        // What came by both legs at once has no gap.
        let words = gaps.map {
            let (picture, sound) = (max(0, $0.picture.inMilliseconds), max(0, $0.sound.inMilliseconds))
            return "picture gap \(Int(picture)) ms, sound gap \(Int(sound)) ms"
        }
        if let next, leg == next.leg {
            let actions = leaveOld()
            old = (current.number, current.leg, now + Self.linger)
            current = next
            current.isFlowing = true
            hasFlowed = true
            self.next = nil
            return actions + [.note("moved: \(words ?? "")")]
        }
        guard leg == current.leg, !current.isFlowing else { return [] }
        current.isFlowing = true
        hasFlowed = true
        return words.map { [.note("back: \($0)")] } ?? []
    }

    /// - Parameter media: the latest arrival of media.
    mutating func advance(to now: Instant, media: Instant?) -> [Action] {
        guard !isOver else { return [] }
        var actions: [Action] = []
        if let until = old?.until, now >= until { actions += leaveOld() }
        if let lostAt, now - lostAt > Self.patience { return actions + end("no way back into the call for 60 s") }
        if let next {
            let (one, opening) = opened(next, at: now)
            self.next = one
            actions += opening
            if now >= one.deadline { actions += giveUpMove("no picture and sound in time") }
        }
        let (one, opening) = opened(current, at: now)
        current = one
        actions += opening
        if current.isJoined, let offerAt, now >= offerAt {
            self.offerAt = nil
            actions += (current.leg.map { [.close(leg: $0)] } ?? []) + offer()
        }
        return actions + doubt(at: now, media)
    }

    /// Leaves the call.
    mutating func stop() -> [Action] {
        isOver = true
        return leaveOld() + (next.map { [.leave(attachment: $0.number)] } ?? []) + [.leave(attachment: current.number)]
    }

    // MARK: Steps

    /// Whether a lost connection is made anew. Who waits to be let in waits on, as a page does.
    private var comesBack: Bool { hasBeenIn || hasWaited }

    private mutating func change(_ number: Int, _ body: (inout Attachment) -> Void) {
        if current.number == number { body(&current) }
        if var one = next, one.number == number {
            body(&one)
            next = one
        }
    }

    private mutating func offer() -> [Action] {
        legs += 1
        current.leg = legs
        current.isFlowing = false
        (mustOffer, offerAt) = (false, nil)
        return [.offer(attachment: current.number, leg: legs)]
    }

    private mutating func successorJoined(_ seat: Ticket, isFresh: Bool) -> [Action] {
        guard var next else { return [] }
        ticket = seat
        next.isJoined = true
        if !isFresh, next.leg == nil {
            // The server that has the room has it still, and this attachment has the seat.
            let before = current.number
            next.leg = current.leg
            next.isFlowing = current.isFlowing
            next.deadline = .distantFuture
            (current, self.next) = (next, nil)
            return [.drop(attachment: before), .note("not moved")]
        }
        let closing = next.leg.map { [Action.close(leg: $0)] } ?? []
        legs += 1
        next.leg = legs
        self.next = next
        return closing + [.offer(attachment: next.number, leg: legs)]
    }

    /// The successor is the only attachment from now on.
    private mutating func promote() -> [Action] {
        guard var next else { return [] }
        next.deadline = .distantFuture
        let before = current
        // The leg that is there is of use until another one is.
        if next.leg == nil { next.leg = before.leg }
        (current, self.next) = (next, nil)
        var actions = [Action.drop(attachment: before.number)]
        if let leg = before.leg, leg != current.leg { actions.append(.close(leg: leg)) }
        if !current.isJoined { lostAt = lostAt ?? before.lastMessage }
        return actions + [.note("lost before the move was done")]
    }

    private mutating func giveUpMove(_ why: String) -> [Action] {
        guard let next else { return [] }
        self.next = nil
        if next.isJoined { mustOffer = true }
        let closing = next.leg.map { [Action.close(leg: $0)] } ?? []
        // The seat there ends by itself: the ticket of a seat that was left is good for nothing any more.
        return [.drop(attachment: next.number)] + closing + [.note("the move failed: \(why)")]
    }

    private mutating func leaveOld() -> [Action] {
        guard let old else { return [] }
        self.old = nil
        return [.leave(attachment: old.number)] + (old.leg.map { [.close(leg: $0)] } ?? [])
    }

    private mutating func lose(_ why: String, _ reason: ReconnectPlan.Reason, at now: Instant) -> [Action] {
        lostAt = lostAt ?? now
        let before = current.number
        _ = reopenCurrent(reason, at: now)
        return [.note("lost: \(why)"), .drop(attachment: before)]
    }

    /// The attachment that takes an attachment's place, to be opened later.
    private mutating func another(
        for one: Attachment, _ reason: ReconnectPlan.Reason, at now: Instant
    ) -> (Attachment, delay: Duration) {
        attachments += 1
        let delay = comeback.delay(reason, random: random())
        var again = Attachment(number: attachments, leg: one.leg, openedAt: now + delay, lastMessage: now)
        again.isFlowing = one.isFlowing
        again.deadline = one.deadline
        return (again, delay)
    }

    /// Returns the time until the present attachment's successor opens.
    private mutating func reopenCurrent(_ reason: ReconnectPlan.Reason, at now: Instant) -> Duration {
        let (again, delay) = another(for: current, reason, at: now)
        current = again
        return delay
    }

    /// Opens an attachment whose time has come, and replaces one that does not get in.
    private mutating func opened(_ one: Attachment, at now: Instant) -> (Attachment, [Action]) {
        var one = one
        if !one.isOpen, now >= one.openedAt {
            one.isOpen = true
            return (one, [.open(attachment: one.number, ticket)])
        }
        // The first attempt to come back may go to a machine that is gone.
        let limit = hasBeenIn && comeback.failures < 2 ? Self.answerAgainWithin : Self.answerWithin
        guard one.isOpen, !one.isJoined, !one.isWaiting, now >= one.openedAt + limit else { return (one, []) }
        guard comesBack else { return (one, end("the server did not answer the join")) }
        return (another(for: one, .lost, at: now).0, [.drop(attachment: one.number), .note("no answer to the join")])
    }

    /// Asks for a sign of life where media or messages are missing, and comes back by another connection without one.
    private mutating func doubt(at now: Instant, _ media: Instant?) -> [Action] {
        guard current.isJoined || current.isWaiting else { return [] }
        if let asked = current.pingedAt {
            guard now >= asked + Self.signWithin else { return [] }
            if next != nil { return promote() }
            return lose("no sign of life", .lost, at: now)
        }
        let silence = now - current.lastMessage
        let isSilent =
            silence > Self.messageSilence
            || current.isFlowing && silence > Self.mediaSilence && media.map { now - $0 > Self.mediaSilence } == true
        guard isSilent else { return [] }
        current.pingedAt = now
        return [.ping(attachment: current.number)]
    }

    private mutating func end(_ failure: String) -> [Action] {
        isOver = true
        return [.end(failure: failure)]
    }
}
