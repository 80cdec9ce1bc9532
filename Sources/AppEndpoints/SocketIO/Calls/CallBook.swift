import Basics

/// The calls from person to person: who rings whom, and who has joined. Each has a conference room of its own, whose id
/// is the call's.
///
/// Calls to `room_…` are not in the book: they ring nobody, and go on without any one person.
struct CallBook: Sendable {
    /// What others have to be told after someone left.
    enum Effect: Sendable, Equatable {
        /// The call ends for this session, the last one of two.
        case end(session: String)
        /// The user's clients stop ringing.
        case stopRinging(user: String)
    }

    private struct Call {
        var caller: String
        var callerSession: String
        var callee: String
        var members: Set<String> = []
        /// Someone beside the caller has joined.
        var hasMet = false
        var since: Instant
    }

    /// Calls of all people together.
    static let maxCalls = 4096
    /// A call that nobody has joined is forgotten after this time.
    static let ringLimit = Duration.seconds(120)

    private var calls: [String: Call] = [:]

    /// The calls that ring or go on.
    var count: Int { calls.count }

    /// Adds a call. Returns false if there are too many.
    mutating func ring(_ room: String, from caller: String, session: String, to callee: String, at now: Instant) -> Bool
    {
        if calls.count >= CallBook.maxCalls {
            calls = calls.filter { !$0.value.members.isEmpty || now < $0.value.since + CallBook.ringLimit }
        }
        guard calls.count < CallBook.maxCalls else { return false }
        calls[room] = Call(caller: caller, callerSession: session, callee: callee, since: now)
        return true
    }

    mutating func joined(_ room: String, session: String) {
        guard var call = calls[room] else { return }
        call.members.insert(session)
        if session != call.callerSession { call.hasMet = true }
        calls[room] = call
    }

    /// A session has left a call, or is gone.
    mutating func left(_ room: String, session: String) -> [Effect] {
        guard var call = calls[room] else { return [] }
        call.members.remove(session)
        calls[room] = call.members.isEmpty ? nil : call
        if !call.hasMet { return session == call.callerSession ? giveUp(room, call) : [] }
        guard call.members.count == 1, let last = call.members.first else { return [] }
        return [.end(session: last)]
    }

    private mutating func giveUp(_ room: String, _ call: Call) -> [Effect] {
        calls[room] = nil
        return [.stopRinging(user: call.callee)]
    }

    /// The calls of a session that is gone before it joined them: their callees stop ringing.
    mutating func gone(session: String) -> [Effect] {
        calls.filter { $0.value.callerSession == session && $0.value.members.isEmpty }
            .flatMap { giveUp($0.key, $0.value) }
    }

    /// Refuses or ends a call, for all who take part. Returns the sessions inside and the users to tell, the callee if
    /// still ringing; nil unless `session` of `user` takes part.
    mutating func cancel(_ room: String, by user: String, session: String) -> (sessions: Set<String>, users: [String])?
    {
        guard let call = calls[room],
            user == call.caller || user == call.callee || call.members.contains(session)
        else { return nil }
        calls[room] = nil
        return (call.members.union([call.callerSession]), call.hasMet ? [] : [call.callee])
    }
}
