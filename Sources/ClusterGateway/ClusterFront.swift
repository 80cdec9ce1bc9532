package import Admission
package import AsyncHTTPClient
package import Basics
package import Cluster
import Conference
import FoundationEssentials
package import HTTPTypes
import HummingbirdCore
package import Logging
import NIOHTTP1
package import Settings
import Threads
package import WebServer

/// What the endpoints ask of the rooms of this node. `ClusterBridge` conforms to it.
package protocol LocalRooms: Sendable {
    /// The rooms that are here.
    var rooms: [String] { get }
    /// Awaited before a request that may create reaches a room that is placed here: its stored state is restored.
    func prepare(_ room: String) async throws(ClusterError)
    /// Whether a room that is here, or this node's settings, use a layout.
    func usesLayout(_ name: String) -> Bool
    /// Ends rooms that another node has.
    func lose(_ rooms: [String])
}

/// What every node does with requests for rooms: it finds out who owns the room, and reaches the owner over the
/// internal listener. It keeps no state of rooms.
package final class ClusterFront: AppCluster {
    package let directory: any ClusterDirectory
    package let keeper: any LocalRooms
    package let tokens: NodeToken
    package let peers: NodeClient
    package let pipes = SocketPipes()
    package let metrics = ProxyMetrics()
    package let notices: OnceLogger
    package let timing: Timing
    /// What is checked of those who want into a room. Set once, before a client can come.
    package let door = Guarded(FrontDoor())
    /// Placements of new rooms, by the address that asks: each is a write of the store.
    private let placements: BucketTable<IPAddress>
    /// Files of pages that this node does not have, by the address that asks: each is asked of all other nodes. Thirty
    /// pages that open behind one address ask for two hundred.
    private let searches = BucketTable<IPAddress>(rate: 20, burst: 200, at: MonotonicClock.now())
    /// What there is one of among all nodes, by its name: whether it is here, and what ends it.
    private let singletons = Guarded<[String: (isHere: Bool, end: @Sendable () -> Void)]>([:])

    package struct Timing: Sendable {
        /// Between two connections that a node refuses before its process counts as gone.
        package var refusals = Duration.milliseconds(100)
        /// The longest time until the head of an answer. A recording's end and the next part of a stream take seconds.
        package var answer = Duration.seconds(60)
        /// The time that every node has for its part of a list.
        package var list = Duration.seconds(1)
        /// The time for a WebSocket to its owner.
        package var socket = Duration.seconds(4)
        /// The longest silence within an answer. Streams of events have a sign of life every 15 s.
        package var silence = Duration.seconds(60)
        package var connect = Duration.seconds(1)
    }

    /// - Parameters:
    ///   - placementsPerSecond: of one address; ten times as many at once.
    package init(
        _ directory: any ClusterDirectory, keeper: any LocalRooms, settings: ClusterSettings,
        placementsPerSecond: Double, timing: Timing = Timing(), logger: Logger
    ) throws(ConfigurationFaults) {
        self.directory = directory
        self.keeper = keeper
        self.timing = timing
        tokens = NodeToken(secret: settings.secret, node: directory.here.id)
        peers = try NodeClient(settings.tls, timing: timing)
        notices = OnceLogger(logger)
        placements = BucketTable(
            rate: placementsPerSecond, burst: placementsPerSecond * 10, at: MonotonicClock.now())
    }

    package func shutdown() async {
        pipes.endAll()
        await peers.shutdown()
    }

    /// The other registered nodes.
    package var others: [NodeRecord] { directory.view.nodes.map(\.record).filter { $0.id != directory.here.id } }

    /// The node that an id belongs to: the longest of the registered ids that it begins with.
    package func node(ofID id: String) -> NodeRecord? {
        let all = others + [directory.here]
        return all.filter { id.hasPrefix($0.id + "-") || id.hasPrefix($0.id + ".") }.max { $0.id.count < $1.id.count }
    }

    /// - Throws: 421 for what a node sent to a public listener: passed on once more, it would go round for ever.
    func checkLoop(_ asked: RouteRequest) throws(APIError) {
        guard asked.headers[.nodeToken] != nil else { return }
        throw APIError(
            .misdirected,
            "this is a public listener, and the request is of a node: cluster.advertise must be the address of cluster.listen"
        )
    }

    /// The head of a request to a node on behalf of a client.
    ///
    /// - Parameters:
    ///   - owner: of the room that the request is for, as this node knows it.
    ///   - passes: which of the client's headers go along, by their names.
    package func request(
        to node: NodeRecord, _ uri: String, method: HTTPRequest.Method = .get, for asked: RouteRequest,
        owner: RoomOwner? = nil, passes: (HTTPField.Name) -> Bool
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: node.url + uri)
        request.method = .init(rawValue: method.rawValue)
        request.headers.add(name: "host", value: asked.request.head.authority ?? "localhost")
        for field in asked.headers where passes(field.name) {
            request.headers.add(name: field.name.rawName, value: field.value)
        }
        let own = NodeHeaders(client: asked.source.client, address: asked.publicAddress, owner: owner)
        for field in own.fields(tokens.make(for: node.id)) { request.headers.add(name: field.name, value: field.value) }
        return request
    }

    /// Ends what waits for a node, since it is gone.
    package func nodeIsGone(_ node: NodeRecord) {
        pipes.nodeIsGone(node)
        peers.nodeIsGone(node)
    }

    /// Logs once what another node answers that nothing comes of.
    package func logIncompatible(_ node: NodeRecord, _ why: String) {
        notices.once("rubbish \(node.id)") {
            $0.error("Another node of the cluster answers nothing useful: \(why)", metadata: ["node": "\(node.id)"])
        }
    }

    // MARK: The owner

    /// What came of one try to reach an owner.
    package enum Attempt<Value: Sendable>: Sendable {
        case done(Value)
        /// The node is not the owner.
        case misdirected
        /// The node takes no room now.
        case full
        /// Nothing listens at the node's internal port.
        case refused
        /// The store says that the node is gone, while it was waited for.
        case gone
        /// The node and this one do not understand each other: its certificate has ended, or its secret is another one.
        case incompatible(Refusal)
        case failed(Refusal)
    }

    package enum Reached<Value: Sendable>: Sendable {
        /// The room is here, and ready to be entered.
        case here
        /// Nobody has the room.
        case nobody
        case there(Value)
    }

    /// Reaches the owner of a room by `attempt`, which is called again where the room turns out to have another owner.
    ///
    /// - Parameter client: whose limit of placements applies.
    package func reach<Value: Sendable>(
        _ room: String, _ need: OwnerNeed, for client: IPAddress?, _ attempt: (RoomOwner) async -> Attempt<Value>
    ) async throws(Refusal) -> Reached<Value> {
        var (owner, isNew) = try await find(room, need, for: client)
        var wasMisdirected = false
        var wasGone = false
        // Each node refuses the room once at most.
        var full: Set<String> = []
        while let known = owner {
            var outcome: Attempt<Value>
            if known.isHere {
                if need == .reads { return .here }
                if try await takes(room) { return .here }
                outcome = .full
            } else {
                outcome = await attempt(known)
                if case .refused = outcome {
                    try? await Task.sleep(for: timing.refusals)
                    outcome = await attempt(known)
                }
            }
            switch outcome {
            case .done(let value): return .there(value)
            case .failed(let refusal): throw refusal
            case .misdirected:
                guard !wasMisdirected else { throw Self.moving }
                wasMisdirected = true
                owner = try await asked { () async throws(ClusterError) in try await self.directory.lookUp(room) }
                isNew = false
                if owner == nil || owner == known { (owner, isNew) = try await find(room, need, for: client) }
                if owner == known { throw Self.moving }
            case .full, .incompatible:
                // Others may understand the node, and be there in the room. One that was placed just now is empty.
                if case .incompatible(let refusal) = outcome, !isNew { throw refusal }
                full.insert(known.node.id)
                let next = try await asked { [full] () async throws(ClusterError) in
                    try await self.directory.place(room, insteadOf: known, full: full)
                }
                if full.contains(next.node.id) { throw Refusal(ClusterError.full) }
                owner = next
            case .refused:
                guard !wasGone else { throw Self.lost }
                wasGone = true
                guard await directory.ownerIsGone(known, of: room) else { throw Self.unreachable }
                (owner, isNew) = try await find(room, need, for: client)
                if owner == known { throw Self.lost }
            case .gone:
                guard !wasGone else { throw Self.lost }
                wasGone = true
                (owner, isNew) = try await find(room, need, for: client)
                if owner == known { throw Self.lost }
            }
        }
        return .nobody
    }

    private static let moving = Refusal(
        .overloaded, "the room is being moved to another node: try again", retryAfter: .seconds(1))
    private static let lost = Refusal(
        .overloaded, "the room's node is gone, and no other one has the room yet: try again", retryAfter: .seconds(1))

    private static let unreachable = Refusal(
        .overloaded, "this node does not reach the room's node, which lives: try again", retryAfter: .seconds(1))

    /// Whether the other nodes are asked for a page's file that this one does not have.
    func maySearch(for client: IPAddress?, at now: Instant = MonotonicClock.now()) -> Bool {
        searches.take(client?.clientPrefix ?? .v4(0), at: now) == .zero
    }

    /// The owner, and whether it was chosen by this call.
    private func find(
        _ room: String, _ need: OwnerNeed, for client: IPAddress?
    ) async throws(Refusal) -> (owner: RoomOwner?, isNew: Bool) {
        let known = try await asked { () async throws(ClusterError) in try await self.directory.owner(of: room) }
        if known != nil || need == .reads { return (known, false) }
        if need == .returns {
            let stored = try await asked { () async throws(ClusterError) in try await self.directory.stored(room) }
            if stored == nil { return (nil, false) }
        }
        if let client {
            let wait = placements.take(client.clientPrefix, at: MonotonicClock.now())
            if wait > .zero {
                throw Refusal(.tooFast, "too many new rooms from this address", retryAfter: wait)
            }
        }
        let chosen = try await asked { () async throws(ClusterError) in try await self.directory.place(room, .best) }
        return (chosen, true)
    }

    package func placeHere(_ room: String) async throws(Refusal) {
        let owner = try await asked { () async throws(ClusterError) in try await self.directory.place(room, .here) }
        guard owner.isHere else {
            throw Refusal(.overloaded, "this room is on another node, which this client cannot reach")
        }
        try await prepare(room)
    }

    package func prepare(_ room: String) async throws(Refusal) {
        if try await !takes(room) { throw Refusal(ClusterError.full) }
    }

    /// Prepares a room that is placed here. Returns false where this node takes no room now, by a limit that its last
    /// report does not show: another one may.
    package func takes(_ room: String) async throws(Refusal) -> Bool {
        if Self.isSingleton(room) {
            singletons.withLock { $0[room, default: (false, {})].isHere = true }
            return true
        }
        do throws(ClusterError) {
            try await keeper.prepare(room)
            return true
        } catch {
            if error == .full { return false }
            throw Refusal(error)
        }
    }

    private func asked<Value>(_ body: () async throws(ClusterError) -> Value) async throws(Refusal) -> Value {
        do {
            return try await body()
        } catch {
            throw Refusal(error)
        }
    }

    /// Whether a name in the store is that of something of which there is one among all nodes: it cannot be a room's.
    package static func isSingleton(_ name: String) -> Bool { !Names.isRoom(name) }

    /// Those that are here: since they were asked for here, and until another node has them.
    package var singletonsHere: [String] { singletons.withLock { $0.filter(\.value.isHere).map(\.key) } }

    package func onLoss(of name: String, _ end: @escaping @Sendable () -> Void) {
        singletons.withLock { $0[name, default: (false, {})].end = end }
    }

    /// Another node has it.
    package func lose(singleton name: String) {
        let end = singletons.withLock { singletons in
            singletons[name]?.isHere = false
            return singletons[name]?.end
        }
        end?()
    }

    // MARK: As the owner

    enum Ownership: Sendable, Equatable {
        case here
        /// With the owner's id as far as it is known.
        case elsewhere(String?)
    }

    /// Whether this node has the room that another node's request is for.
    ///
    /// - Parameter epoch: of the owner as the sender knows it. A higher one than this node's shows that the room may
    ///   have a later owner: the store says who, and if that is another one, this node gives the room up.
    func ownership(of room: String, epoch: Int64?) async throws(Refusal) -> Ownership {
        let believed = try? await directory.owner(of: room)
        if let believed, believed.isHere, (epoch ?? 0) <= believed.epoch { return .here }
        let owner: RoomOwner?
        do {
            owner = try await directory.lookUp(room)
        } catch {
            // Without the store, rooms stay where they are.
            let isHere = Self.isSingleton(room) ? singletonsHere.contains(room) : keeper.rooms.contains(room)
            if believed?.isHere == true || isHere { return .here }
            throw Refusal(error)
        }
        if owner?.isHere == true { return .here }
        if believed?.isHere == true, let owner, owner.epoch > believed?.epoch ?? 0 { keeper.lose([room]) }
        return .elsewhere(owner?.node.id)
    }
}

extension Refusal {
    package init(_ error: ClusterError) {
        switch error {
        case .unavailable:
            self.init(
                .overloaded, "no room can be placed now: the cluster's store does not answer", retryAfter: .seconds(2))
        case .full:
            self.init(.overloaded, "every node has all the rooms that it can carry", retryAfter: .seconds(5))
        case .ownerLost:
            self.init(.overloaded, "the room's node does not answer", retryAfter: .seconds(1))
        case .closed:
            self.init(
                .overloaded,
                "what is stored of this room cannot be read, so it stays closed for a quarter of an hour: the log of its node says why",
                retryAfter: .seconds(60))
        }
    }
}
