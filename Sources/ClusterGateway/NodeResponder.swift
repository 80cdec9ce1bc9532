package import Cluster
import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Logging
package import WebServer

/// Answers requests at the internal listener: those of other nodes, for rooms that are here. Nothing is passed on from
/// here, so that no request goes further than one hop.
package struct NodeResponder: HTTPResponder {
    package typealias Context = WebContext

    package let responder: WebResponder
    package let front: ClusterFront
    package let gate: NodeGate
    /// The answer to `GET /cluster/alive`.
    package let alive: @Sendable () -> AliveAnswer
    /// Whether this node reaches another one, by its id and incarnation.
    package let reaches: @Sendable (_ node: String, _ incarnation: String) async -> PeerReach

    package init(
        responder: WebResponder, front: ClusterFront, gate: NodeGate, alive: @escaping @Sendable () -> AliveAnswer,
        reaches: @escaping @Sendable (_ node: String, _ incarnation: String) async -> PeerReach
    ) {
        self.responder = responder
        self.front = front
        self.gate = gate
        self.alive = alive
        self.reaches = reaches
    }

    package func respond(to request: Request, context: WebContext) async throws -> Response {
        // Before any other work.
        guard let source = gate.source(request.headers) else { return unknown(request, context) }
        if request.uri.path == "/cluster/alive" { return Self.response(alive()) }
        if request.uri.path == "/cluster/reaches" {
            let names = request.uri.queryParameters
            guard let node = names.get("node"), let incarnation = names.get("incarnation") else {
                return Response(status: .badRequest)
            }
            return Self.response(await reaches(node, incarnation))
        }
        if request.method == .get, let name = LayoutUse.layout(request.uri.path) {
            return Response(status: front.keeper.usesLayout(name) ? .conflict : .noContent)
        }
        return await responder.answer(request, context, for: source) { [front] route, asked in
            try await Self.check(route, asked, front)
        }
    }

    /// Both logs say why: the sender gets the reason in a header.
    private func unknown(_ request: Request, _ context: WebContext) -> Response {
        if request.headers[.nodeToken] != nil {
            let (why, node) = gate.refusal(request.headers)
            let address = context.remote.map { "\($0)" } ?? "?"
            // Whoever reaches the port could fill the log otherwise.
            front.notices.once("refused \(why) \(node ?? "")") {
                $0.error(
                    "This node refuses another one's token: \(why.explanation)",
                    metadata: ["node": "\(node ?? "unknown")", "address": "\(address)"])
            }
        }
        var response = APIError(.unauthorized, "this listener is for the nodes of a cluster").response
        response.headers[.nodeRefused] = gate.refusal(request.headers).why.rawValue
        response.headers[.connection] = "close"
        return response
    }

    private static func response(_ answer: some Encodable) -> Response {
        guard let bytes = try? JSONEncoder().encode(answer) else { return Response(status: .internalServerError) }
        return .json(ByteBuffer(bytes: bytes))
    }

    /// - Throws: 421 with what this node knows, where the request's room is not here.
    private static func check(_ route: Route, _ asked: RouteRequest, _ front: ClusterFront) async throws {
        let epoch = asked.headers[.nodeEpoch].flatMap { Int64($0) }
        switch route.clusterPlacement {
        case .owner(let key, let need): try await check(key.name(asked) ?? "", need, epoch, front)
        case .singleton(let name): try await check(name, .reads, epoch, front)
        case .node:
            // The id is of this node; the epoch may show that its room has a later owner.
            if let room = asked.parameters["room"], epoch != nil {
                _ = try await front.ownership(of: room, epoch: epoch)
            }
        case .here, .pageFile, .everywhere, .byAll, .events: break
        }
    }

    private static func check(
        _ room: String, _ need: OwnerNeed, _ epoch: Int64?, _ front: ClusterFront
    ) async throws {
        if room.isEmpty { return }
        switch try await front.ownership(of: room, epoch: epoch) {
        case .here:
            if need == .reads { return }
            if try await front.takes(room) { return }
            var refusal = APIError(Refusal(ClusterError.full))
            refusal.headers[.nodeFull] = "rooms"
            throw refusal
        case .elsewhere(let owner):
            throw APIError(
                .misdirected, "this node does not have the room", headers: [.nodeOwner: owner ?? ""])
        }
    }
}
