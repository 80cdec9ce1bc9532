package import Admission
import Basics
import Cluster
import Conference
import FoundationEssentials
import NIOCore
import NIOHTTP1
import Threads
package import WebServer

/// One client's WebSocket at the node that accepted it. Its messages go to this node's endpoint, or through a pipe to
/// the same endpoint of the room's owner.
package final class SocketRelay: Sendable {
    private enum Target: Sendable {
        case here(WebSocketConnection, Task<Void, Never>)
        case there(SocketPipe)
    }

    /// Messages that name a room, a second and at once: each may open a connection to another node.
    private static let (namingRate, namingBurst) = (1.0, 5.0)
    /// RFC 6455 §7.4.1, IANA's registry: service restart, try again later.
    private static let (restart, tryAgainLater): (UInt16, UInt16) = (1012, 1013)

    private let front: ClusterFront
    private let socket: RoomSocket
    private let client: WebSocketConnection
    private let target = Guarded<Target?>(nil)
    private let naming: Guarded<TokenBucket>
    private let isOver = Guarded(false)

    package init(_ client: WebSocketConnection, _ socket: RoomSocket, _ front: ClusterFront) {
        self.client = client
        self.socket = socket
        self.front = front
        naming = Guarded(TokenBucket(rate: Self.namingRate, size: Self.namingBurst, at: MonotonicClock.now()))
    }

    /// Serves the client until its connection ends.
    package func run() async {
        switch socket.placement {
        case .here, .byMessage: serveHere()
        case .singleton(let name): await begin(singleton: name)
        case .byPath: break
        }
        await client.run { [self] message in await receive(message) }
        isOver.withLock { $0 = true }
        await leave(target.withLock { $0 })
    }

    private func receive(_ message: WebSocketConnection.Message) async {
        switch socket.placement {
        case .here, .singleton: break
        case .byPath(let room):
            if target.withLock({ $0 == nil }) { await go(to: room(client.handshake.uri), .creates, by: message) }
        case .byMessage(let need, let room):
            // Who is in a room cannot enter another one by this connection: the endpoint says so.
            if !client.isInside, let room = room(message), Names.isRoom(room) {
                let pause = naming.withLock { bucket in
                    let now = MonotonicClock.now()
                    let pause = bucket.wait(at: now)
                    bucket.spend(1, maxDebt: Self.namingBurst, at: now)
                    return pause
                }
                if pause > .zero { try? await Task.sleep(for: pause) }
                // A refused client is not in any room, and may try again.
                guard await go(to: room, need, by: message) else { return }
            }
        }
        switch target.withLock({ $0 }) {
        case .here(let part, _): await part.deliver(message)
        case .there(let pipe): await pipe.send(message)
        case nil: break
        }
    }

    // MARK: The target

    /// Makes the room's owner the target. Returns false where that cannot be: the client has been told.
    @discardableResult
    private func go(
        to room: String, _ need: OwnerNeed, by message: WebSocketConnection.Message
    ) async -> Bool {
        await go { [self] () async throws(Refusal) in
            if need != .reads {
                do throws(Refusal) {
                    try socket.entry(front.door.withLock { $0 }, client.handshake.uri, message, room)
                } catch {
                    // This node's own endpoint refuses it in its own words, where it has some.
                    if socket.refusal(error) == nil { return .here }
                    throw error
                }
            }
            return try await front.reach(room, need, for: client.handshake.remote) { [self] owner in
                await open(owner, room)
            }
        }
    }

    private func begin(singleton name: String) async {
        await go { [self] () async throws(Refusal) in
            try await front.reach(name, .creates, for: nil) { [self] owner in await open(owner, name) }
        }
    }

    @discardableResult
    private func go(
        _ reach: () async throws(Refusal) -> ClusterFront.Reached<SocketPipe>
    ) async -> Bool {
        do throws(Refusal) {
            switch try await reach() {
            case .here, .nobody: serveHere()
            case .there(let pipe): await change(to: .there(pipe))
            }
            return true
        } catch {
            if let words = socket.refusal(error) {
                client.send(words)
            } else {
                client.close(Self.tryAgainLater, error.code.rawValue)
            }
            return false
        }
    }

    /// A pipe to the owner: the present one where it leads there already.
    private func open(_ owner: RoomOwner, _ room: String) async -> ClusterFront.Attempt<SocketPipe> {
        if case .there(let pipe)? = target.withLock({ $0 }), pipe.node == owner.node, pipe.isOpen { return .done(pipe) }
        let pipe = SocketPipe(
            to: owner, room: room, handshake: client.handshake, limit: socket.endpoint, front: front, kind: .webSocket)
        return await pipe.open { [weak self, client] event in
            switch event {
            case .text(let text): await client.relay(.text(text))
            case .binary(let data): await client.relay(.binary(data))
            case .inside: client.wentInside()
            case .waits: client.mayStayOutside()
            case .closed(let code, let reason): self?.ended(code, reason)
            }
        }.map { pipe }
    }

    /// The owner has ended the pipe, or is gone.
    private func ended(_ code: UInt16?, _ reason: String) {
        if isOver.withLock({ $0 }) { return }
        client.close(code ?? Self.restart, code == nil ? "the room's node is gone" : reason)
    }

    private func serveHere() {
        if case .here? = target.withLock({ $0 }) { return }
        let part = WebSocketConnection(partOf: client)
        let serve = socket.endpoint.serve
        let task = Task { await serve(part) }
        let before = target.withLock { target in
            defer { target = .here(part, task) }
            return target
        }
        if case .there(let pipe)? = before { pipe.leave(nil) }
    }

    private func change(to next: Target) async {
        let before = target.withLock { target in
            defer { target = next }
            return target
        }
        if case .there(let old)? = before, case .there(let new) = next, old === new { return }
        await leave(before)
    }

    private func leave(_ target: Target?) async {
        switch target {
        case .here(let part, let task):
            part.detach()
            await task.value
        case .there(let pipe): pipe.leave(client.closeCode)
        case nil: break
        }
    }
}

/// One node's WebSocket at the owner of its client's room: the endpoint serves it as it serves a client, and every
/// message that names a room is checked once more.
package struct OwnedSocket: Sendable {
    package let front: ClusterFront
    package let socket: RoomSocket

    package init(front: ClusterFront, socket: RoomSocket) {
        self.front = front
        self.socket = socket
    }

    /// The close code of a node that is not the owner, with the owner's id as its reason.
    static let notOwner: UInt16 = 4421
    /// That of a node that takes no room now.
    package static let full: UInt16 = 4503

    package func serve(_ connection: WebSocketConnection) async {
        let headers = connection.handshake.headers
        if let room = headers.first(name: NodeHeaders.room)?.percentDecoded {
            let epoch = headers.first(name: NodeHeaders.epoch).flatMap { Int64($0) }
            do throws(Refusal) {
                if case .elsewhere(let owner) = try await front.ownership(of: room, epoch: epoch) {
                    connection.close(Self.notOwner, owner ?? "")
                    return await connection.run { _ in }
                }
                if try await !front.takes(room) {
                    connection.close(Self.full, "")
                    return await connection.run { _ in }
                }
            } catch {
                connection.close(1013, error.code.rawValue)
                return await connection.run { _ in }
            }
        }
        connection.tell(.serving)
        guard case .byMessage(let need, let room) = socket.placement else {
            return await socket.endpoint.serve(connection)
        }
        let part = WebSocketConnection(partOf: connection)
        let task = Task { [socket] in await socket.endpoint.serve(part) }
        await connection.run { message in
            if !connection.isInside, let room = room(message), Names.isRoom(room) {
                do throws(Refusal) {
                    guard case .here = try await front.ownership(of: room, epoch: nil) else {
                        throw Refusal(.overloaded, "the room is being moved: try again", retryAfter: .seconds(1))
                    }
                    if need != .reads { try await front.prepare(room) }
                } catch {
                    if let words = socket.refusal(error) { return connection.send(words) }
                    return connection.close(1013, error.code.rawValue)
                }
            }
            await part.deliver(message)
        }
        part.detach()
        await task.value
    }
}

extension ClusterFront.Attempt {
    func map<Other: Sendable>(_ body: (Value) -> Other) -> ClusterFront.Attempt<Other> {
        switch self {
        case .done(let value): .done(body(value))
        case .misdirected: .misdirected
        case .full: .full
        case .refused: .refused
        case .gone: .gone
        case .incompatible(let refusal): .incompatible(refusal)
        case .failed(let refusal): .failed(refusal)
        }
    }
}
