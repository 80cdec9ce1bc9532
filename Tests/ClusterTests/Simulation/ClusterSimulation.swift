import Basics

@testable import Cluster

/// Two or three nodes, a store and clients in virtual time, with faults that follow from a seed.
final class ClusterSimulation {
    private struct Event {
        var time: BootInstant
        var order: Int
        var run: () -> Void
    }

    /// Somebody who wants to be in a room.
    private struct Client {
        var room: String
        /// The node where the room of this client is; nil: the client has none.
        var node: Int?
        /// Its tries so far.
        var attempt = 0
    }

    struct Violation: Error, CustomStringConvertible {
        var seed: UInt64
        var at: Double
        var what: String
        var description: String { "seed \(seed), after \(at) s: \(what)" }
    }

    static let ttl = Duration.seconds(3)
    let configuration = Membership.Configuration(ttl: ClusterSimulation.ttl)
    let seed: UInt64
    var random: SeededRandom
    private(set) var now = BootInstant.zero + .seconds(1000)
    private(set) var nodes: [SimulatedNode] = []
    private var events: [Event] = []
    private var order = 0
    private let store = SimulatedStore()
    private var clients: [Client] = []
    private var cutFromStore: [Bool]
    private var cuts: Set<Int> = []
    private var violation: Violation?
    /// Since when two nodes have a room although they reach the store and each other.
    private var doubles: [String: BootInstant] = [:]
    private let roomNames = ["r0", "r1"]
    /// For a failing seed.
    private let isTold: Bool
    private(set) var losses = 0
    /// The number of nodes that have a room.
    var hosts: [String: Int] = [:]

    init(seed: UInt64, isTold: Bool = false) {
        (self.seed, self.isTold) = (seed, isTold)
        random = SeededRandom(seed: seed)
        let count = seed % 4 == 1 ? 2 : 3
        cutFromStore = Array(repeating: false, count: count)
        store.onChange = { [unowned self] changes in for node in self.nodes { node.notify(changes) } }
        nodes = (0..<count).map { SimulatedNode($0, in: self) }
    }

    /// Runs a schedule of faults, and the time that everything may take afterwards.
    func run() -> Violation? {
        for node in nodes { node.start() }
        let begin = now
        for room in roomNames {
            let client = clients.count
            clients.append(Client(room: room))
            after(.milliseconds(chance(0...2000))) { $0.come(client) }
        }
        var healed = begin + .seconds(2)
        for _ in 0..<chance(1...3) { healed = max(healed, plan(from: begin)) }
        // The last client comes at any time.
        clients.append(Client(room: roomNames[0]))
        after(.milliseconds(chance(0...Int((healed - begin).inMilliseconds)))) { $0.come(2) }
        let end = healed + Self.ttl + .seconds(3)
        while violation == nil, let event = events.last {
            if store.nextExpiry <= min(event.time, end) {
                now = max(now, store.nextExpiry)
                store.expire(at: now)
            } else {
                guard event.time <= end else { break }
                events.removeLast()
                now = max(now, event.time)
                event.run()
            }
            check()
            // Each tenth schedule waits for what comes late.
            if seed % 10 != 0, now > healed + .milliseconds(500), isSettled { break }
        }
        if violation == nil { checkEnd() }
        return violation
    }

    // MARK: Faults

    /// Plans one fault, and returns when it is over.
    private func plan(from begin: BootInstant) -> BootInstant {
        let start = Duration.milliseconds(chance(200...5000))
        let time = Duration.milliseconds(chance(100...6000))
        let (node, other) = (chance(0...nodes.count - 1), chance(1...nodes.count - 1))
        let peer = (node + other) % nodes.count
        switch chance(0...9) {
        case 0, 1:
            after(start) { $0.cutStore(node, true) }
            after(start + time) { $0.cutStore(node, false) }
        case 2:
            // From the store and from every node.
            after(start) { world in
                world.cutStore(node, true)
                for other in world.nodes.indices where other != node { world.cuts.insert(world.pair(node, other)) }
            }
            after(start + time) { world in
                world.cutStore(node, false)
                for other in world.nodes.indices where other != node { world.cuts.remove(world.pair(node, other)) }
            }
        case 3:
            after(start) { $0.cuts.insert($0.pair(node, peer)) }
            after(start + time) { $0.cuts.remove($0.pair(node, peer)) }
        case 4:
            after(start) { world in
                world.tell("n\(node) is paused for \(time)")
                world.nodes[node].pausedUntil = world.now + time
                // Its clients doubt it after three seconds.
                world.after(.seconds(3)) { world in
                    guard world.nodes[node].pausedUntil > world.now else { return }
                    world.abandon(node)
                }
            }
        case 5:
            after(start) { world in
                world.tell("the store is down")
                world.store.goDown()
            }
            after(start + time) { world in
                world.tell("the store is up")
                world.store.comeUp(at: world.now)
            }
        case 6, 7:
            let isRestored = chance(0...1) == 1
            after(.milliseconds(chance(0...Int(start.inMilliseconds)))) { $0.store.takeSnapshot() }
            after(start) { world in
                world.tell("the store loses \(isRestored ? "what came since its snapshot" : "everything")")
                world.store.goDown()
                world.store.lose(restoring: isRestored)
                for node in world.nodes { world.after(world.delay(), on: node) { $0.endWatch() } }
            }
            after(start + time) { world in
                world.tell("the store is up")
                world.store.comeUp(at: world.now)
            }
        case 8:
            after(start) { world in
                world.tell("n\(node) crashes")
                world.nodes[node].crash()
            }
            after(start + time) { world in
                world.tell("n\(node) starts")
                if !world.nodes[node].isRunning { world.nodes[node].start() }
            }
        default:
            after(start) { world in
                world.tell("the record of n\(node) is deleted")
                _ = world.store.commit(Transaction(operations: [.delete(.node("n\(node)"))]))
            }
            return begin + start
        }
        return begin + start + time
    }

    private func cutStore(_ node: Int, _ isCut: Bool) {
        tell("n\(node) is \(isCut ? "cut from" : "back at") the store")
        cutFromStore[node] = isCut
        guard !isCut else { return }
        after(.milliseconds(chance(100...5000)), on: nodes[node]) { node in
            if node.world.reachesStore(node.index) { node.deliverStalled() }
        }
    }

    private func index(of id: String) -> Int { id == "n0" ? 0 : id == "n1" ? 1 : 2 }
    /// Of the store that a watch belongs to.
    var storeLosses: Int { store.losses }
    private func pair(_ one: Int, _ other: Int) -> Int { min(one, other) * 3 + max(one, other) }

    func reachesStore(_ node: Int) -> Bool { !cutFromStore[node] }
    private func reaches(_ one: Int, _ other: Int) -> Bool { one == other || !cuts.contains(pair(one, other)) }

    private func isPaused(_ node: Int) -> Bool { nodes[node].pausedUntil > now }

    // MARK: Time

    private func chance(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(truncatingIfNeeded: random.next() >> 33) % (range.upperBound - range.lowerBound + 1)
    }

    /// One way through the network.
    func delay() -> Duration { .milliseconds(chance(1...8)) }

    private func add(_ time: BootInstant, _ run: @escaping () -> Void) {
        order += 1
        var place = events.count
        while place > 0, events[place - 1].time <= time { place -= 1 }
        events.insert(Event(time: time, order: order, run: run), at: place)
    }

    func after(_ time: Duration, _ run: @escaping (ClusterSimulation) -> Void) {
        add(now + time) { [unowned self] in run(self) }
    }

    /// Runs a step of a node, unless its process has ended by then; a paused one runs it when it goes on.
    func after(_ time: Duration, on node: SimulatedNode, _ run: @escaping (SimulatedNode) -> Void) {
        let generation = node.generation
        add(now + time) { [unowned self, unowned node] in self.step(node, generation, run) }
    }

    private func step(_ node: SimulatedNode, _ generation: Int, _ run: @escaping (SimulatedNode) -> Void) {
        guard node.generation == generation, node.isRunning else { return }
        if node.pausedUntil > now {
            return add(node.pausedUntil) { [unowned self, unowned node] in self.step(node, generation, run) }
        }
        run(node)
        node.pump()
    }

    /// A call of the store: it may be done although the answer is lost.
    func call<Answer>(
        _ node: SimulatedNode, within limit: Duration = .seconds(1),
        _ body: @escaping (SimulatedStore) -> Result<Answer, StoreError>,
        _ done: @escaping (SimulatedNode, Result<Answer, StoreError>) -> Void
    ) {
        let sent = now
        let fail = { [unowned self] in
            self.after(sent + limit - self.now, on: node) { done($0, .failure(.unreachable("no answer"))) }
        }
        guard reachesStore(node.index) else { return fail() }
        let generation = node.generation
        after(delay()) { world in
            guard node.generation == generation else { return }
            guard world.reachesStore(node.index), world.store.isUp else { return fail() }
            let result = body(world.store)
            world.after(world.delay()) { world in
                guard world.reachesStore(node.index) else { return fail() }
                world.after(.zero, on: node) { done($0, result) }
            }
        }
    }

    /// A question to a peer, with 300 ms for the answer.
    func ask(_ node: SimulatedNode, _ id: String, _ done: @escaping (SimulatedNode, AliveAnswer?) -> Void) {
        let peer = nodes[index(of: id)]
        let isThere = reaches(node.index, peer.index)
        guard isThere, !isPaused(peer.index), peer.isRunning else {
            return after(.milliseconds(isThere && !peer.isRunning ? 2 : 300), on: node) { done($0, nil) }
        }
        let answer = peer.alive
        after(delay() + delay(), on: node) { done($0, answer) }
    }

    // MARK: Clients

    private func come(_ client: Int) {
        guard clients[client].node == nil else { return }
        clients[client].attempt += 1
        let attempt = clients[client].attempt
        let again = { [unowned self] (time: Duration) in
            self.after(time) { if $0.clients[client].attempt == attempt { $0.come(client) } }
        }
        let front = nodes[chance(0...nodes.count - 1)]
        guard front.isRunning, !isPaused(front.index) else { return again(.milliseconds(300)) }
        let room = clients[client].room
        // The balancer or the client gives up who says nothing.
        again(.seconds(3))
        after(.zero, on: front) { front in
            front.place(room) { [unowned self] owner in
                guard self.clients[client].attempt == attempt else { return }
                guard let owner else { return again(.milliseconds(500)) }
                self.enter(client, attempt, owner, from: front, again)
            }
        }
    }

    private func enter(
        _ client: Int, _ attempt: Int, _ owner: StoreCopy.Owner, from front: SimulatedNode,
        _ again: @escaping (Duration) -> Void
    ) {
        let room = clients[client].room
        let target = nodes[index(of: owner.node)]
        guard reaches(front.index, target.index), !isPaused(target.index) else { return again(.milliseconds(500)) }
        guard target.isRunning, target.record.incarnation == owner.incarnation else {
            if !target.isRunning { front.ownerIsGone(owner, of: room) }
            return again(.milliseconds(200))
        }
        after(delay(), on: target) { [unowned self] target in
            guard self.clients[client].attempt == attempt else { return }
            target.accept(room) { [unowned self] isIn in
                guard self.clients[client].attempt == attempt else { return }
                if isIn {
                    self.tell("client \(client) is in \(room) at \(target.id)")
                    self.clients[client].node = target.index
                } else {
                    again(.milliseconds(500))
                }
            }
        }
    }

    /// The rooms have ended here, and their clients come back.
    func roomsEnded(_ rooms: Set<String>, at node: SimulatedNode) {
        tell("\(node.id) ends \(rooms.sorted())")
        for index in clients.indices where clients[index].node == node.index && rooms.contains(clients[index].room) {
            clients[index].node = nil
            after(.milliseconds(300)) { $0.come(index) }
        }
    }

    private func abandon(_ node: Int) {
        for index in clients.indices where clients[index].node == node {
            clients[index].node = nil
            after(.milliseconds(100)) { $0.come(index) }
        }
    }

    // MARK: What must hold

    private func fail(_ what: String) {
        if violation == nil { violation = Violation(seed: seed, at: (now - .zero).inSeconds - 1000, what: what) }
    }

    /// Whether nothing is left to happen.
    private var isSettled: Bool {
        clients.allSatisfy { $0.node != nil } && hosts.values.allSatisfy { $0 <= 1 }
            && nodes.allSatisfy { !$0.isRunning || $0.membership.standing(at: now) == .sure }
    }

    private func check() {
        guard hosts.values.contains(where: { $0 > 1 }) else { return doubles.removeAll() }
        for room in roomNames {
            var (sure, here) = (0, 0)
            for node in nodes where node.rooms.contains(room) {
                here += 1
                if node.isSureOwner(room) { sure += 1 }
            }
            // Who has not heard yet that the store has lost its data is sure of a lease that is gone.
            if sure > 1, store.losses == 0 { fail("two sure owners of \(room)") }
            let owners = here > 1 ? nodes.filter { $0.rooms.contains(room) } : []
            let isInContact =
                here > 1 && store.isUp
                && owners.allSatisfy { node in
                    reachesStore(node.index) && !isPaused(node.index)
                        && nodes.contains { other in
                            other !== node && other.isRunning && !isPaused(other.index)
                                && reaches(node.index, other.index) && reachesStore(other.index)
                        }
                }
            guard isInContact else {
                doubles[room] = nil
                continue
            }
            if let since = doubles[room] {
                if now - since > .seconds(2) { fail("\(room) is at \(owners.map(\.id)) for more than 2 s") }
            } else {
                doubles[room] = now
            }
        }
    }

    /// A room ends only where its node's record, or its owner, is no longer this process's.
    func checkLoss(of room: String, at node: SimulatedNode) {
        losses += 1
        // Its peers have seen the record gone, which a snapshot brought back.
        if store.losses > 0, node.membership.standing(at: now) == .fenced { return }
        guard case .node(let record)? = store.entries[.node(node.id)]?.value,
            record.incarnation == node.record.incarnation,
            store.entries[.node(node.id)]?.lease == node.membership.leaseID
                || node.membership.leaseID == nil,
            case .owner(let owner)? = store.entries[.owner(room)]?.value,
            owner.incarnation == node.record.incarnation
        else { return }
        // The lease may be of a registration that the node does not know of yet.
        fail("\(node.id) ends \(room), which is its own")
    }

    private func checkEnd() {
        for (index, client) in clients.enumerated() {
            guard let node = client.node else {
                return fail("client \(index) is not in \(client.room)")
            }
            guard nodes[node].rooms.contains(client.room) else { return fail("client \(index) is in no room") }
        }
        for room in roomNames where nodes.count(where: { $0.rooms.contains(room) }) > 1 {
            fail("\(room) is at two nodes in the end")
        }
    }

    func tell(_ what: @autoclosure () -> String) {
        if isTold { print((now - .zero).inSeconds - 1000, what(), nodes.map { "\($0.membership.standing(at: now))" }) }
    }
}
