package import Basics
package import Logging
import Threads

/// This server as a node of a cluster: it registers itself in the store, follows what the others write there, and
/// answers who has which room.
///
/// `Membership`, `StoreCopy`, `Placement` and `OwnedRooms` decide, as values behind one lock; the tasks here perform what
/// they decide. Renewals run on a thread of their own.
package final class ClusterNode: ClusterDirectory {
    struct State {
        var record: NodeRecord
        var membership: Membership
        var copy: StoreCopy
        /// Whether the layouts of the store were applied once: before that the node does not register.
        var hasLayouts = false
        var holdings = OwnedRooms()
        var counts = ClusterCounts()
        /// Whether the watch runs.
        var isWatching = false
        /// The revision of this node's last report, and when it was written: the watch must show it.
        var reported: (revision: Int64, at: BootInstant) = (0, .distantPast)
        /// States of rooms that are not yet in the store.
        var states: [String: [UInt8]] = [:]
        var isStoring = false
        var random = SeededRandom(seed: .random(in: .min ... .max))
        /// Stored states of rooms that nobody has, and since when this node has seen them so.
        var orphans: [String: (revision: Int64, since: BootInstant)] = [:]
        var tasks: [Task<Void, Never>] = []
        var heart: Task<Void, Never>?
        var watch: Task<Void, any Error>?
        var isStopped = false
        /// Inquiries after nodes whose ports refuse connections, by their incarnations.
        var inquiries: [String: Task<Bool, Never>] = [:]
        /// What the other nodes think of this one's token.
        var trust = PeerTrust()
        /// Why the store refused this node's last report.
        var storeFault: String?

        /// What is older than the nodes' reports is no proof that the watch lives.
        func isFollowing(at now: BootInstant) -> Bool {
            isWatching && (copy.revision >= reported.revision || now - reported.at < .seconds(3))
        }
    }

    /// What happens at the host, in order.
    enum HostCall: Sendable {
        case lose([String])
        case nodeIsGone(NodeRecord)
    }

    let settings: ClusterSettings
    let store: any ClusterStore
    let host: any ClusterHost
    let peers: any NodeQueries
    let logger: Logger
    let state: Guarded<State>
    /// The layouts of the store. Its lock is held while the host takes one over, so that no earlier one comes later.
    let layouts = Guarded(LayoutCopy())
    let hostCalls: AsyncStream<HostCall>.Continuation
    private let hostCallStream: AsyncStream<HostCall>
    /// Asks for a comparison of what is here with what the store has.
    let comparisons: AsyncStream<Void>.Continuation
    let comparisonStream: AsyncStream<Void>

    /// Connects nowhere before `start`.
    ///
    /// - Parameters:
    ///   - record: this node, as `NodeRecord(settings:version:)` makes it.
    ///   - host: what runs here. Where it has what is no room (`~socketIO`), its `rooms` names that too: what the store
    ///     says is here and `rooms` does not name for ten seconds is given up.
    ///   - peers: how other nodes are asked.
    package convenience init(
        settings: ClusterSettings, record: NodeRecord, host: any ClusterHost, peers: any NodeQueries, logger: Logger
    ) throws(ClusterFault) {
        self.init(
            settings: settings, record: record, host: host, peers: peers, store: try EtcdGateway(settings),
            logger: logger)
    }

    init(
        settings: ClusterSettings, record: NodeRecord, host: any ClusterHost, peers: any NodeQueries,
        store: any ClusterStore, logger: Logger
    ) {
        (self.settings, self.host, self.peers, self.store, self.logger) = (settings, host, peers, store, logger)
        let membership = Membership(
            id: record.id, incarnation: record.incarnation, Membership.Configuration(ttl: settings.ttl))
        state = Guarded(State(record: record, membership: membership, copy: StoreCopy(id: record.id)))
        (hostCallStream, hostCalls) = AsyncStream.makeStream(of: HostCall.self)
        (comparisonStream, comparisons) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: Begin and end

    /// Registers the node, which goes on in the background: a store that does not answer delays no start. The internal
    /// listener must answer `GET /cluster/alive` before.
    package func start() async {
        let executor = ThreadExecutor("cluster")
        if executor == nil { logger.error("the system starts no thread for the cluster's renewals") }
        let heart = Task(executorPreference: executor) { await self.beat(on: executor) }
        let calls = hostCallStream
        let tasks = [
            Task { await self.follow() }, Task { await self.report() }, Task { await self.compare() },
            Task { await self.collect() }, Task { await self.watchTrust() },
            Task { [host] in
                for await call in calls {
                    switch call {
                    case .lose(let rooms): host.lose(rooms)
                    case .nodeIsGone(let node): host.nodeIsGone(node)
                    }
                }
            },
        ]
        state.withLock { state in
            state.heart = heart
            state.tasks = tasks
        }
    }

    /// Ends the lease, and with it the node's record and what is left of its rooms.
    package func stop() async {
        let (tasks, watch, heart, lease) = state.withLock { state in
            state.isStopped = true
            return (state.tasks, state.watch, state.heart, state.membership.leaseID)
        }
        for task in tasks { task.cancel() }
        watch?.cancel()
        hostCalls.finish()
        comparisons.finish()
        await heart?.value
        // Without an answer the lease ends by itself.
        if let lease { try? await store.revoke(lease) }
        for task in tasks { await task.value }
        await store.close()
    }

    // MARK: What is so

    package var here: NodeRecord { state.withLock { $0.record } }

    package var view: ClusterView {
        let now = BootInstant.now()
        return state.withLock { state in
            ClusterView(
                standing: state.membership.standing(at: now),
                leaseMargin: state.membership.leaseMargin(at: now).inSeconds,
                nodes: state.copy.nodes.values.sorted { $0.record.id < $1.record.id }.map {
                    ClusterView.Node(record: $0.record, load: $0.load, rooms: $0.rooms)
                }, isFollowing: state.isFollowing(at: now), distrust: state.trust.fault,
                storeFault: state.storeFault)
        }
    }

    /// The answer to `GET /cluster/alive`.
    package var alive: AliveAnswer {
        let (now, rooms) = (BootInstant.now(), host.rooms.count)
        return state.withLock { state in
            AliveAnswer(
                node: state.record.id, incarnation: state.record.incarnation,
                standing: state.membership.standing(at: now),
                leaseMargin: state.membership.leaseMargin(at: now).inSeconds,
                sureFor: state.membership.sureFor(at: now).inSeconds, storeFault: state.storeFault,
                isFollowing: state.isFollowing(at: now),
                revision: state.copy.seen, nodes: state.copy.nodes.mapValues(\.record.incarnation), rooms: rooms)
        }
    }

    /// Asks every node what it believes; takes a second at most.
    package func outlook() async -> ClusterReport {
        let (view, id) = (view, here.id)
        let answers = await withTaskGroup(of: (String, PeerAnswer).self) { group in
            for node in view.nodes.map(\.record) where node.id != id {
                group.addTask { [peers] in (node.id, await peers.ask(node, within: .seconds(1))) }
            }
            var answers = [id: PeerAnswer.alive(alive)]
            for await (id, answer) in group { answers[id] = answer }
            return answers
        }
        return ClusterReport(
            here: id, nodes: view.nodes.map { .init(node: $0, answered: answers[$0.record.id] ?? .silent) })
    }

    /// The metrics of the membership and the store.
    package var samples: [MetricSample] {
        let view = view
        let owned = view.nodes.first { $0.record.id == here.id }?.rooms ?? 0
        return state.withLock { $0.counts }.samples(view, owned: owned, errors: store.errors)
    }

    // MARK: Steps that several parts share

    /// Does what changes of the copy mean.
    func handle(_ notices: [StoreCopy.Notice], _ state: inout State, at now: BootInstant) -> [Membership.Action] {
        var actions: [Membership.Action] = []
        for notice in notices {
            switch notice {
            case .nodeGone(let record): Task { await self.confirmEnd(of: record) }
            case .ownKey(let incarnation, let revision):
                actions += state.membership.sawOwnKey(incarnation: incarnation, revision: revision, at: now)
            case .ownKeyGone(let revision): state.membership.sawOwnKeyGone(revision: revision, at: now)
            }
        }
        return actions
    }

    /// Tells the host that a node is gone, unless the node lives and registers anew: its key may have vanished by mistake.
    private func confirmEnd(of record: NodeRecord) async {
        for _ in 0..<3 {
            guard state.withLock({ $0.copy.nodes[record.id] }) == nil else { break }
            guard await peers.alive(record, within: .milliseconds(300))?.incarnation == record.incarnation else {
                break
            }
            try? await Task.sleep(for: .seconds(1))
        }
        let isBack = state.withLock { $0.copy.nodes[record.id]?.record.incarnation == record.incarnation }
        if !isBack { hostCalls.yield(.nodeIsGone(record)) }
    }

    /// Ends rooms here.
    func lose(_ rooms: [String], _ why: String) {
        guard !rooms.isEmpty else { return }
        state.withLock { $0.holdings.lose(rooms) }
        logger.warning("rooms end here: \(why)", metadata: ["rooms": "\(rooms.count)"])
        hostCalls.yield(.lose(rooms))
    }
}
