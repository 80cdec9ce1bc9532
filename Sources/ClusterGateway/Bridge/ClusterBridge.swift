import Basics
package import Cluster
package import Conference
import Cryptography
import FoundationEssentials
package import Logging
import Threads

/// Connects the conference of this node with the cluster: stores the rooms' states, restores them where a room comes to
/// this node, and moves rooms to other nodes.
///
/// The conference calls it as `RoomObserver`, on threads that must not wait: it only notes names. One task of its own
/// stores and releases, a few rooms at a time.
package final class ClusterBridge: ClusterHost, RoomObserver {
    /// A changed room is stored at most this often.
    package static let period = Duration.milliseconds(500)
    /// Rooms without a change are stored this often, since older states count for nothing (`RoomState.lifetime`).
    package static let refresh = Duration.seconds(300)
    /// How many rooms are stored, released or moved at once.
    package static let width = 8
    /// The time between two tries to move rooms for which no node had place.
    package static let retry = Duration.seconds(1)
    /// How long a room stays closed whose stored state cannot be read: the age at which a state says no more who is there.
    static let closure = Duration.seconds(Int64(RoomState.lifetime))
    /// Rooms that are remembered as closed. Others are closed too, and are not counted.
    private static let mostClosed = 4096

    private struct State {
        var directory: (any ClusterDirectory)?
        /// Rooms to store, and those that have ended.
        var changed: Set<String> = []
        var ended: Set<String> = []
        /// Rooms that are being moved: what is stored of them stays.
        var moving: Set<String> = []
        var preparing: [String: Task<ClusterError?, Never>] = [:]
        var releasing: [String: Task<Void, Never>] = [:]
        /// The hash of each room's state as it was stored last, without its time.
        var stored: [String: Int] = [:]
        var refreshed = Instant.zero
        var work: Task<Void, Never>?
        /// Rooms whose stored state cannot be read, with its hash, and since when this node knows it.
        var closed: [String: (hash: Int, since: Instant)] = [:]
    }

    private let conference: Conference
    private let seal: RoomSeal
    private let logger: Logger
    private let whenNodeIsGone: @Sendable (NodeRecord) -> Void
    private let period: Duration
    private let closure: Duration
    private let state = Guarded(State())

    /// - Parameters:
    ///   - period: see `ClusterBridge.period`; an argument for tests.
    ///   - closure: see `ClusterBridge.closure`; an argument for tests.
    ///   - nodeIsGone: what the endpoints do when a node is gone: the end of the pipes that lead there.
    package init(
        _ conference: Conference, seal: RoomSeal, logger: Logger, period: Duration = ClusterBridge.period,
        closure: Duration = ClusterBridge.closure, nodeIsGone: @escaping @Sendable (NodeRecord) -> Void = { _ in }
    ) {
        self.conference = conference
        self.seal = seal
        self.logger = logger
        self.period = period
        self.closure = closure
        whenNodeIsGone = nodeIsGone
    }

    /// Follows the conference's rooms and stores their states. Called once, before a client can join.
    package func start(_ directory: any ClusterDirectory) {
        conference.moves.observe(self)
        state.withLock { state in
            state.directory = directory
            state.changed = Set(conference.moves.roomNames)
            state.refreshed = MonotonicClock.now()
            state.work = Task { [weak self, period] in
                while !Task.isCancelled {
                    try? await Task.sleep(for: period)
                    await self?.turn()
                }
            }
        }
    }

    /// Stores what waits, and follows the conference no longer; a store that does not answer is not waited for beyond
    /// `limit`. The cluster's node goes on until then.
    package func stop(within limit: Duration = .seconds(1)) async {
        await atMost(limit) { [self] in await storeAll() }
        conference.moves.observe(nil)
    }

    private func storeAll() async {
        let work = state.withLock { state in
            defer { state.work = nil }
            return state.work
        }
        work?.cancel()
        await work?.value
        await turn()
    }

    // MARK: - For the conference

    package func changed(_ room: String) {
        state.withLock { state in _ = state.changed.insert(room) }
    }

    package func ended(_ room: String, _ reason: LeaveReason) {
        state.withLock { state in
            state.changed.remove(room)
            state.stored[room] = nil
            // What is stored of a moved room is its next owner's.
            if reason != .moved { state.ended.insert(room) }
            state.moving.remove(room)
        }
    }

    // MARK: - For the cluster

    package var rooms: [String] { conference.moves.roomNames }

    package var load: NodeLoad {
        NodeLoad(
            used: conference.usedCapacity, isFull: conference.isFull, rooms: conference.moves.roomNames.count,
            seats: conference.seatCount)
    }

    package func usesLayout(_ name: String) -> Bool {
        do {
            try conference.layouts.checkUnused(name)
            return false
        } catch {
            return true
        }
    }

    package func lose(_ rooms: [String]) {
        if !rooms.isEmpty {
            logger.warning("other nodes have rooms of this one", metadata: ["rooms": "\(rooms.count)"])
        }
        conference.moves.lose(rooms)
    }

    package func nodeIsGone(_ node: NodeRecord) { whenNodeIsGone(node) }

    package func useLayout(_ name: String, _ json: [UInt8]?) { conference.layouts.share(name, json: json) }
    package func settleLayouts() async { await conference.layouts.settle() }

    // MARK: - Rooms that come

    /// Awaited before a join or a request that may create reaches a room that is placed here: a room that is not here
    /// yet gets its stored state. Returns at once for a room that is here.
    ///
    /// - Throws: `unavailable` where the store does not answer, and for a while `closed` where the state is of no use,
    ///   since a room must not begin without its PIN and its lock; `full` where this node takes no room, or a newer one is
    ///   needed for it; `ownerLost` where another node has the room meanwhile.
    package func prepare(_ room: String) async throws(ClusterError) {
        if conference.moves.hasRoom(room) { return }
        enum Step {
            case done
            case wait(Task<Void, Never>)
            case follow(Task<ClusterError?, Never>)
        }
        while true {
            let step = state.withLock { state -> Step in
                guard let directory = state.directory else { return .done }
                // A meeting that has just ended here and was not released yet: the next one keeps the name, and is
                // stored over it.
                if state.ended.remove(room) != nil { return .done }
                if let releasing = state.releasing[room] { return .wait(releasing) }
                if let running = state.preparing[room] { return .follow(running) }
                let task = Task { [self] in
                    let fault = await restore(room, directory)
                    prepared(room)
                    return fault
                }
                state.preparing[room] = task
                return .follow(task)
            }
            switch step {
            case .done: return try checkPlace(for: room)
            case .wait(let releasing):
                await releasing.value
                try await placeAgain(room)
            case .follow(let task):
                if let fault = await task.value { throw fault }
                return try checkPlace(for: room)
            }
        }
    }

    /// The load that the other nodes know is up to two seconds old.
    private func checkPlace(for room: String) throws(ClusterError) {
        if !conference.moves.hasRoom(room), conference.isFull { throw .full }
    }

    private func prepared(_ room: String) {
        state.withLock { state in state.preparing[room] = nil }
    }

    /// A room that was released after its caller had found it here needs an owner again.
    private func placeAgain(_ room: String) async throws(ClusterError) {
        guard let directory = state.withLock({ $0.directory }) else { return }
        if try await !directory.place(room, .here).isHere { throw .ownerLost }
    }

    /// Makes the room of what is stored of it, if anything is. Returns why that cannot be done now.
    private func restore(_ room: String, _ directory: any ClusterDirectory) async -> ClusterError? {
        let bytes: [UInt8]
        do throws(ClusterError) {
            guard let stored = try await directory.stored(room) else { return nil }
            bytes = stored
        } catch {
            return error
        }
        let known: RoomState
        do throws(BadRoomState) {
            known = try RoomState(json: seal.opened(bytes, of: room))
            guard known.room == room else { throw BadRoomState(description: "it is of another room") }
        } catch {
            if error.isNewer {
                logger.warning("a room needs a newer node: \(error)", metadata: ["room": "\(room)"])
                return .full
            }
            return refuse(room, bytes, "\(error)")
        }
        do throws(ConferenceError) {
            if try conference.moves.restore(known) {
                logger.info(
                    "room restored", metadata: ["room": "\(room)", "seats": "\(known.seats.count)"])
            }
        } catch {
            switch error {
            case .overloaded, .draining, .atCapacity, .tooFast: return .full
            default: return refuse(room, bytes, error.message)
            }
        }
        state.withLock { state in _ = state.closed.removeValue(forKey: room) }
        return nil
    }

    /// A state that is of no use closes its room, until it has been so for `closure`. Returns nil where it may begin anew.
    private func refuse(_ room: String, _ bytes: [UInt8], _ fault: String) -> ClusterError? {
        let (hash, now) = (bytes.hashValue, MonotonicClock.now())
        let (isNew, isOver) = state.withLock { state -> (Bool, Bool) in
            if let known = state.closed[room], known.hash == hash {
                let isOver = now - known.since >= closure
                if isOver { state.closed[room] = nil }
                return (false, isOver)
            }
            if state.closed.count >= Self.mostClosed {
                state.closed = state.closed.filter { now - $0.value.since < closure }
            }
            if state.closed.count < Self.mostClosed { state.closed[room] = (hash, now) }
            return (true, closure == .zero)
        }
        if isOver {
            logger.warning("a room whose stored state is of no use begins anew", metadata: ["room": "\(room)"])
            return nil
        }
        if isNew {
            logger.error(
                "the stored state of a room is of no use, so the room is closed for \(Int(closure.inSeconds)) s: \(fault). Deleting its key in etcd (/tessera/1/rooms/…) opens it at once, without PIN and lock",
                metadata: ["room": "\(room)"])
        }
        return .closed
    }

    // MARK: - Rooms that are here

    /// Stores the rooms that have changed, and releases those that have ended.
    private func turn() async {
        let now = MonotonicClock.now()
        let work = state.withLock {
            state -> (directory: any ClusterDirectory, changed: Set<String>, ended: Set<String>)? in
            guard let directory = state.directory else { return nil }
            if now - state.refreshed >= Self.refresh {
                state.refreshed = now
                state.stored = [:]
                state.changed.formUnion(conference.moves.roomNames)
            }
            defer { (state.changed, state.ended) = ([], []) }
            return (directory, state.changed.subtracting(state.moving), state.ended)
        }
        guard let work else { return }
        for room in work.ended { release(room, work.directory) }
        await Self.each(work.changed) { [self] room in await store(room, work.directory) }
        for task in state.withLock({ Array($0.releasing.values) }) { await task.value }
    }

    private func store(_ room: String, _ directory: any ClusterDirectory) async {
        guard var known = conference.moves.state(of: room) else { return }
        let saved = known.savedAt
        known.savedAt = .distantPast
        let hash = known.hashValue
        let isNew = state.withLock { state in
            defer { state.stored[room] = hash }
            return state.stored[room] != hash
        }
        if !isNew { return }
        known.savedAt = saved
        await store(known, directory)
    }

    private func store(_ known: RoomState, _ directory: any ClusterDirectory) async {
        let sealed: [UInt8]
        do throws(CryptographyError) {
            sealed = try seal.sealed(known.encoded(limit: RoomState.maxBytes - RoomSeal.overhead), of: known.room)
        } catch {
            logger.error("the state of a room is not stored: \(error)", metadata: ["room": "\(known.room)"])
            return
        }
        await directory.store(sealed, of: known.room)
    }

    private func release(_ room: String, _ directory: any ClusterDirectory) {
        // Another meeting of the name may have begun.
        if conference.moves.hasRoom(room) { return changed(room) }
        var left: (state: [UInt8], life: Duration)?
        if let (known, life) = conference.moves.stateOfEnded(room),
            let sealed = try? seal.sealed(known.encoded(), of: room)
        {
            left = (sealed, life)
        }
        state.withLock { [left] state in
            state.releasing[room] = Task { [self] in
                await directory.release(room, leaving: left)
                released(room)
            }
        }
    }

    private func released(_ room: String) {
        state.withLock { state in state.releasing[room] = nil }
    }

    private static func each(_ rooms: some Sequence<String>, _ body: @escaping @Sendable (String) async -> Void) async {
        var rest = Array(rooms)[...]
        await withTaskGroup(of: Void.self) { group in
            for room in rest.prefix(width) { group.addTask { await body(room) } }
            rest = rest.dropFirst(width)
            for await _ in group {
                if let room = rest.popFirst() { group.addTask { await body(room) } }
            }
        }
    }

    // MARK: - Rooms that go

    /// Empties this node: `move` gives each room to another node, `wait` waits until the rooms have ended. Returns when
    /// no room is left, after `within`, or when its task is cancelled; what is left then stays as it is. A room for which
    /// no node has place is tried again each second.
    ///
    /// Takes nothing back: `setDraining(false)` does.
    package func drain(_ drain: ClusterSettings.Drain) async {
        guard let directory = state.withLock({ $0.directory }) else { return }
        await atMost(drain.within) { [self] in await empty(drain, directory) }
    }

    private func empty(_ drain: ClusterSettings.Drain, _ directory: any ClusterDirectory) async {
        let end = MonotonicClock.now() + drain.within
        await directory.setDraining(true)
        var next = Instant.zero
        while !Task.isCancelled, MonotonicClock.now() < end, !conference.moves.roomNames.isEmpty {
            let now = MonotonicClock.now()
            if drain.mode == .move, now >= next {
                next = now + Self.retry
                let rooms = state.withLock { Set(conference.moves.roomNames).subtracting($0.moving) }
                await Self.each(rooms) { [self] room in await move(room, directory, until: end) }
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Gives a room to another node, where one has place.
    private func move(_ room: String, _ directory: any ClusterDirectory, until end: Instant) async {
        guard state.withLock({ $0.moving.insert(room).inserted }), let known = conference.moves.state(of: room) else {
            return
        }
        await store(known, directory)
        do {
            let owner = try await directory.move(room)
            logger.notice("room moves", metadata: ["room": "\(room)", "node": "\(owner.node.id)"])
            try await conference.moves.begin(room, within: max(.seconds(1), end - MonotonicClock.now()))
        } catch {
            // It stays: its people have the time until the end of the drain.
            logger.warning("a room could not be moved: \(error)", metadata: ["room": "\(room)"])
            state.withLock { state in
                state.moving.remove(room)
                state.changed.insert(room)
            }
        }
    }
}
