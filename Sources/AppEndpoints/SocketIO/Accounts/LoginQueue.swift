import Basics

/// The logins and registrations that wait for the thread that hashes, one after the other. A value; time is an argument.
///
/// Addresses take turns, whatever each has waiting, an IPv6 site (/48) as one. Those whose login has succeeded before
/// come first: three of four turns are theirs while any of them wait, so that others get what is left and are not
/// forgotten either. When the queue is full, a newcomer takes the place of the newest of the address that has most
/// waiting; who would have as many is refused.
struct LoginQueue<Job> {
    /// The jobs of all addresses, and of one. A hash takes a fifth of a second: whoever comes to a full queue of as many
    /// addresses would wait a minute, and has gone by then.
    static var total: Int { 256 }
    static var perAddress: Int { 4 }
    /// After this wait nobody reads the answer any more: the Android app gives up after 30 s.
    static var patience: Duration { .seconds(25) }
    /// Of so many turns one is for those who have not logged in before.
    static var turns: Int { 4 }

    enum Answer {
        case taken
        /// The place is taken from this job.
        case displaced(Job)
        case refused
    }

    private struct Waiting {
        var job: Job
        var since: Instant
    }

    /// The lanes of addresses, in the order of their turns.
    private struct Lanes {
        var order: [IPAddress] = []
        var jobs: [IPAddress: [Waiting]] = [:]

        mutating func add(_ waiting: Waiting, _ lane: IPAddress) {
            if jobs[lane] == nil { order.append(lane) }
            jobs[lane, default: []].append(waiting)
        }

        /// The first of the lane that was served longest ago: one that comes for the first time does not wait for those
        /// who come again and again.
        mutating func next(_ served: inout [IPAddress: Int], _ turn: Int) -> Waiting? {
            let places = order.indices.min { (served[order[$0]] ?? 0, $0) < (served[order[$1]] ?? 0, $1) }
            guard let places else { return nil }
            let lane = order.remove(at: places)
            served[lane] = turn
            guard var own = jobs[lane], !own.isEmpty else { return nil }
            let first = own.removeFirst()
            jobs[lane] = own.isEmpty ? nil : own
            if !own.isEmpty { order.append(lane) }
            return first
        }

        mutating func removeLast(_ lane: IPAddress) -> Waiting? {
            let last = jobs[lane]?.popLast()
            if jobs[lane]?.isEmpty == true {
                jobs[lane] = nil
                order.removeAll { $0 == lane }
            }
            return last
        }

        func count(_ lane: IPAddress) -> Int { jobs[lane]?.count ?? 0 }
    }

    private var known = Lanes()
    private var others = Lanes()
    private var turn = 0
    /// The last turns of addresses, of which so many are remembered.
    private var served: [IPAddress: Int] = [:]
    private static var mostServed: Int { 4096 }
    private(set) var count = 0

    private static func lane(_ address: IPAddress?) -> IPAddress {
        switch address?.unmapped {
        case .v6(let high, _)?: .v6(high & ~0xFFFF, 0)
        case let v4?: v4
        case nil: .v4(0)
        }
    }

    /// - Parameter isKnown: the name has logged in from the address before.
    mutating func add(_ job: Job, from address: IPAddress?, isKnown: Bool, at now: Instant) -> Answer {
        let lane = Self.lane(address)
        let own = known.count(lane) + others.count(lane)
        guard own < Self.perAddress else { return .refused }
        var displaced: Job?
        if count >= Self.total {
            // Those who have not logged in before give way first.
            guard let largest = Self.newest(&others, above: own) ?? Self.newest(&known, above: own) else {
                return .refused
            }
            displaced = largest.job
            count -= 1
        }
        count += 1
        let waiting = Waiting(job: job, since: now)
        if isKnown { known.add(waiting, lane) } else { others.add(waiting, lane) }
        return displaced.map { .displaced($0) } ?? .taken
    }

    /// The newest job of the lane with most of them, which is removed; nil where none has more than `own` + 1.
    private static func newest(_ lanes: inout Lanes, above own: Int) -> Waiting? {
        guard let largest = lanes.jobs.max(by: { $0.value.count < $1.value.count }), largest.value.count > own + 1
        else { return nil }
        return lanes.removeLast(largest.key)
    }

    /// The next job, and those before it whose clients have gone; nil where none waits.
    mutating func next(at now: Instant) -> (job: Job?, late: [Job])? {
        if count == 0 { return nil }
        var late: [Job] = []
        while count > 0 {
            turn += 1
            if served.count > Self.mostServed { served = served.filter { turn - $0.value < Self.mostServed / 2 } }
            let first =
                turn % Self.turns == 0
                ? others.next(&served, turn) ?? known.next(&served, turn)
                : known.next(&served, turn) ?? others.next(&served, turn)
            guard let first else { break }
            count -= 1
            if now - first.since < Self.patience { return (first.job, late) }
            late.append(first.job)
        }
        return (nil, late)
    }
}
