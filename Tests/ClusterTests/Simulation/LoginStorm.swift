import Basics

@testable import Cluster

/// Nodes that have lost their tokens, and an etcd with so much processor, in virtual time and steps of 10 ms.
///
/// A login takes a share of the processor together with all others, also where its node has given up; every call needs
/// a token that etcd has given since its last start.
struct LoginStorm {
    struct Outcome {
        /// From etcd's return until every node was sure; nil: not within the time of the run.
        var allSure: Duration?
        var logins = 0
        var fences = 0
    }

    private struct Node {
        var membership: Membership
        var login = EtcdLogin()
        /// The work that is left of the login that the node waits for, by its number, and until when it waits.
        var asked: (number: Int, until: BootInstant)?
        /// A call that waits for a token, and until when.
        var waiting: (action: Membership.Action, until: BootInstant)?
    }

    private static let step = Duration.milliseconds(10)
    private static let ttl = Duration.seconds(6)

    private var nodes: [Node] = []
    private let store = SimulatedStore()
    /// What etcd computes: the work that is left, and whose login it is.
    private var work: [(left: Duration, node: Int, number: Int)] = []
    private var start = 0
    private var random: SeededRandom
    private var outcome = Outcome()
    private let cost: Duration
    private let processors: Double
    private var now = BootInstant.zero + .seconds(1000)

    /// - Parameters:
    ///   - cost: of a login, on one processor.
    ///   - processors: what etcd has, such as a fifth of one.
    init(nodes count: Int, cost: Duration, processors: Double, seed: UInt64) {
        (self.cost, self.processors, random) = (cost, processors, SeededRandom(seed: seed))
        nodes = (0..<count).map { Node(membership: Membership(id: "n\($0)", incarnation: "i", .init(ttl: Self.ttl))) }
    }

    /// Lets all nodes register, takes etcd down for a while, and waits until all are sure again.
    mutating func run(outage: Duration, limit: Duration) -> Outcome {
        store.comeUp(at: now)
        for index in nodes.indices { nodes[index].login.given("0", at: now - .seconds(60)) }
        run(for: .seconds(20)) { _ in false }
        precondition(isAllSure, "the run begins well")
        store.goDown()
        // The processes end, and with them the logins that run.
        work = []
        run(for: outage) { _ in false }
        start += 1
        store.comeUp(at: now)
        let back = now
        run(for: limit) { $0.isAllSure }
        if isAllSure { outcome.allSure = now - back }
        return outcome
    }

    private var isAllSure: Bool { nodes.allSatisfy { $0.membership.standing(at: now) == .sure } }

    private mutating func run(for time: Duration, until isOver: (LoginStorm) -> Bool) {
        let end = now + time
        while now < end, !isOver(self) {
            now = now + Self.step
            if store.isUp {
                store.expire(at: now)
                compute()
            }
            for index in nodes.indices { turn(index) }
        }
    }

    private mutating func compute() {
        guard !work.isEmpty else { return }
        let share = Self.step * min(1, processors / Double(work.count))
        for index in work.indices { work[index].left = work[index].left - share }
        for job in work where job.left <= .zero && nodes[job.node].asked?.number == job.number {
            nodes[job.node].asked = nil
            nodes[job.node].login.given("\(start)", at: now)
        }
        work.removeAll { $0.left <= .zero }
    }

    private mutating func turn(_ index: Int) {
        if let asked = nodes[index].asked, now >= asked.until {
            nodes[index].asked = nil
            nodes[index].login.failed(at: now, &random)
        }
        for action in nodes[index].membership.advance(to: now) {
            if case .ask = action { ask(index) } else { nodes[index].waiting = (action, now + .seconds(1)) }
        }
        guard let (action, until) = nodes[index].waiting else { return }
        let isSent = store.isUp ? call(index, action) : false
        if isSent {
            nodes[index].waiting = nil
        } else if now >= until {
            nodes[index].waiting = nil
            fail(index, action)
        }
        if nodes[index].waiting != nil, nodes[index].login.token == nil { beginLogin(index) }
    }

    private mutating func beginLogin(_ index: Int) {
        let limit = nodes[index].login.limit
        guard nodes[index].login.begin(at: now) else { return }
        // A member that is down refuses the connection.
        guard store.isUp else { return nodes[index].login.failed(at: now, &random) }
        outcome.logins += 1
        nodes[index].asked = (outcome.logins, now + limit)
        work.append((cost, index, outcome.logins))
    }

    /// Returns false where the call waits for a token.
    private mutating func call(_ index: Int, _ action: Membership.Action) -> Bool {
        guard let token = nodes[index].login.token else { return false }
        guard token == "\(start)" else {
            nodes[index].login.refused(token, at: now, &random)
            return false
        }
        nodes[index].login.answered()
        var membership = nodes[index].membership
        defer { nodes[index].membership = membership }
        switch action {
        case .renew(let lease, let isVerifying):
            guard let renewed = store.renew(lease, at: now) else {
                membership.leaseGone(lease: lease, at: now)
                break
            }
            let isThere = store.entries[.node(membership.id)]?.lease == lease
            _ = membership.renewed(
                lease: lease, ttl: renewed.ttl, sent: now, isRecordThere: isVerifying ? isThere : nil, at: now)
        case .register:
            let record = NodeRecord(id: membership.id, incarnation: membership.incarnation, url: "http://n")
            let lease = store.grant(Self.ttl, at: now)
            let old = store.entries[.node(membership.id)]?.revision ?? 0
            guard case .success(let result) = store.commit(.register(record, lease: lease.id, replacing: old)),
                result.isDone
            else {
                membership.registrationFailed(at: now)
                break
            }
            _ = membership.registered(
                lease: lease.id, ttl: lease.ttl, sent: now, revision: result.revision, at: now)
        default: break
        }
        return true
    }

    private mutating func fail(_ index: Int, _ action: Membership.Action) {
        switch action {
        case .renew(let lease, _): nodes[index].membership.renewalFailed(lease: lease, at: now)
        case .register: nodes[index].membership.registrationFailed(at: now)
        default: break
        }
    }

    /// Three peers answer what they see: who is sure sees the store as it is.
    private mutating func ask(_ index: Int) {
        let others = nodes.indices.filter { $0 != index }.shuffled(using: &random).prefix(3)
        let seen = store.entries.values.reduce(into: [String: String]()) { seen, entry in
            if case .node(let record)? = entry.value { seen[record.id] = record.incarnation }
        }
        let answers = others.map { other in
            let peer = nodes[other].membership
            return AliveAnswer(
                node: peer.id, incarnation: peer.incarnation, standing: peer.standing(at: now),
                sureFor: peer.sureFor(at: now).inSeconds, isFollowing: true, revision: store.revision, nodes: seen)
        }
        let actions = nodes[index].membership.answers(answers, asked: answers.count, at: now)
        if actions.contains(.loseAll) { outcome.fences += 1 }
    }
}
