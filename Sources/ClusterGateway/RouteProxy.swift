import Admission
import AsyncHTTPClient
import Basics
import Cluster
import Conference
import FoundationEssentials
import HTTPTypes
import Hummingbird
package import HummingbirdCore
import NIOCore
import NIOHTTP1
import Threads
package import WebServer

/// Answers a route of the public listener where its placement says that other nodes take part.
struct RouteProxy: Sendable {
    let front: ClusterFront
    let route: Route
    let asked: RouteRequest
    /// Answers at this node: the rule of access, then the handler.
    let serve: @Sendable (RouteRequest) async throws -> Response

    func response() async throws -> Response {
        switch route.clusterPlacement {
        case .here: return try await serve(asked)
        case .pageFile: return try await pageFile()
        case .owner(let key, let need): return try await atRoom(key.name(asked) ?? "", need)
        case .node(let parameter): return try await atNode(of: asked.parameter(parameter))
        case .singleton(let name): return try await atSingleton(name)
        case .byAll: return try await byAll()
        case .everywhere(let list): return try await NodeLists(front: front).answer(list, asked, own: serve)
        case .events: return try await NodeEvents(front: front).answer(asked, own: serve)
        }
    }

    private func atRoom(_ room: String, _ need: OwnerNeed) async throws -> Response {
        // The handler says what is wrong with the name.
        guard Names.isRoom(room) else { return try await serve(asked) }
        let request = try await RequestForwarder(asked, front)
        let reached = try await front.reach(room, need, for: asked.source.client) { owner in
            await request.attempt(owner.node, owner: owner)
        }
        if case .there(let response) = reached { return response }
        return try await serve(request.local)
    }

    private func atSingleton(_ name: String) async throws -> Response {
        let request = try await RequestForwarder(asked, front)
        let reached = try await front.reach(name, .creates, for: nil) { owner in
            await request.attempt(owner.node, owner: owner)
        }
        if case .there(let response) = reached { return response }
        return try await serve(request.local)
    }

    private func atNode(of id: String) async throws -> Response {
        guard let node = front.node(ofID: id) else {
            let room = asked.parameter("room")
            return room.isEmpty ? try await wherever() : try await atRoom(room, .reads)
        }
        if node.id == front.directory.here.id { return try await serve(asked) }
        let room = asked.parameters["room"]
        let owner = if let room { try? await front.directory.owner(of: room) } else { RoomOwner?.none }
        let request = try await RequestForwarder(asked, front)
        switch await request.attempt(node, owner: owner) {
        case .done(let response): return response
        case .failed(let refusal), .incompatible(let refusal): throw refusal
        case .misdirected, .full, .refused, .gone: throw APIError(Refusal(ClusterError.ownerLost))
        }
    }

    /// At the first node that knows the id: of what was made before there was a cluster, and of pictures.
    private func wherever() async throws -> Response {
        let request = try await RequestForwarder(asked, front)
        let own: Response?
        let failure: (any Error)?
        do {
            own = try await serve(request.local)
            failure = nil
        } catch let error as ConferenceError where ErrorCode(error).status == .notFound {
            (own, failure) = (nil, error)
        } catch let error as APIError where error.status == .notFound {
            (own, failure) = (nil, error)
        }
        if let own, own.status != .notFound { return own }
        for node in front.others {
            if case .done(let response) = await request.attempt(node, owner: nil), response.status != .notFound {
                return response
            }
        }
        if let own { return own }
        throw failure ?? APIError.notFound("there is no such thing on any node")
    }

    /// Without a wait for nodes that do not answer: the page is loaded again where a file of it is missing.
    private func pageFile() async throws -> Response {
        do {
            return try await serve(asked)
        } catch let error as APIError where error.status == .notFound {
            guard front.maySearch(for: asked.source.client) else { throw error }
            let request = try await RequestForwarder(asked, front)
            for node in front.others {
                let outcome = await request.attempt(node, owner: nil, within: front.timing.list)
                if case .done(let response) = outcome, response.status.code < 400 { return response }
            }
            throw error
        }
    }

    /// Here first, whose checks are those of every node.
    private func byAll() async throws -> Response {
        var asked = asked
        let body = try await asked.body(upTo: max(route.bodyLimit, LargeBodies.freeBytes))
        asked.request.body = HummingbirdCore.RequestBody(buffer: ByteBuffer(bytes: body))
        var response = try await serve(asked)
        guard response.status.code < 300 else { return response }
        let missing = await withTaskGroup(of: String?.self) { group in
            for node in front.others {
                group.addTask { [asked, front] in
                    let isDone = await NodeRequests(front: front).ask(
                        node, asked.request.method, asked.request.uri.string, asked, body: body,
                        within: front.timing.list * 3)
                    return isDone.map { $0.status.code < 300 } == true ? nil : node.id
                }
            }
            return await group.reduce(into: [String]()) { if let node = $1 { $0.append(node) } }
        }
        if !missing.isEmpty { response.headers[.incomplete] = missing.sorted().joined(separator: ", ") }
        return response
    }
}

extension ClusterFront: RequestRouter {
    package func response(to asked: RouteRequest, by route: Route, serve: @escaping Serve) async throws -> Response {
        try checkLoop(asked)
        // The own endpoint refuses in the words of its family, and counts it.
        if route.access == .endpoint, !door.withLock({ $0 }).admits(route.clusterPlacement, asked) {
            return try await serve(asked)
        }
        return try await RouteProxy(front: self, route: route, asked: asked, serve: serve).response()
    }
}

extension Route {
    /// The placement; the usual one is the owner of the room in the path, and pages are the same on every node.
    var clusterPlacement: Placement {
        let isPage = access == .everyone && description == nil
        return placement ?? (!isPage && path.contains("/{room}") ? .room("room", .reads) : .here)
    }
}

/// Requests whose whole answer is wanted, such as parts of lists.
struct NodeRequests: Sendable {
    let front: ClusterFront

    struct Answer: Sendable {
        var status: HTTPResponse.Status
        var body: [UInt8]
    }

    /// The most bytes of an answer: 10,000 recordings of 400 bytes.
    private static let answerBytes = 4 << 20

    /// Asks one node on behalf of a client; nil: no answer in time, or none of a node.
    func ask(
        _ node: NodeRecord, _ method: HTTPRequest.Method, _ uri: String, _ asked: RouteRequest, body: [UInt8] = [],
        within limit: Duration
    ) async -> Answer? {
        var request = front.request(
            to: node, uri, method: method, for: asked, passes: { $0 == .authorization || $0 == .contentType })
        if !body.isEmpty { request.body = .bytes(body) }
        let answer = await atMost(limit) { [request, front] () -> Answer? in
            guard case .answer(let answer) = await front.peers.send(request, to: node, within: limit),
                // It may begin in time and never end.
                let bytes = try? await answer.body.collect(upTo: Self.answerBytes)
            else { return nil }
            let status = HTTPResponse.Status(code: Int(answer.status.code))
            return Answer(status: status, body: Array(bytes.readableBytesView))
        }.flatMap { $0 }
        front.metrics.count(.list, answer == nil ? .unanswered : .done)
        return answer
    }
}

extension Response {
    /// The whole body. For answers that are in memory.
    func wholeBody() async throws -> [UInt8] {
        let collected = Guarded<[UInt8]>([])
        try await body.write(BodyCollector(collected: collected))
        return collected.withLock { $0 }
    }
}

private struct BodyCollector: ResponseBodyWriter {
    let collected: Guarded<[UInt8]>
    mutating func write(_ buffer: ByteBuffer) async throws {
        collected.withLock { $0 += buffer.readableBytesView }
    }
    consuming func finish(_ trailers: HTTPFields?) async throws {}
}
