import Admission
import Basics
import Cluster
import Conference
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdCore
import WebServer

/// Lists of all nodes as one. A node that does not answer in time is named in `Tessera-Incomplete`.
struct NodeLists: Sendable {
    let front: ClusterFront

    private typealias Part = (node: String, items: [JSONValue]?)

    func answer(
        _ list: String, _ asked: RouteRequest, own: @Sendable (RouteRequest) async throws -> Response
    ) async throws -> Response {
        if ClusterList(rawValue: list) == .recordings { return try await recordings(asked, own) }
        let (items, missing) = try await merged(asked, asked.request.uri.string, own)
        return Self.response(Self.byAge(items), missing)
    }

    /// The rooms of all nodes, this one included: the data of a stream's `reset`.
    func rooms(_ asked: RouteRequest) async -> [JSONValue] {
        let all = await parts(asked, "/api/rooms", of: [front.directory.here] + front.others)
        return Self.byAge(all.flatMap { $0.items ?? [] })
    }

    private static func byAge(_ rooms: [JSONValue]) -> [JSONValue] {
        rooms.sorted { first, second in
            (text(first, "createdAt"), text(first, "id")) < (text(second, "createdAt"), text(second, "id"))
        }
    }

    // MARK: Recordings

    /// A page begins behind a recording of any node: the others' recordings behind it are those that began before it,
    /// and where two began in the same second, those with a smaller id.
    private func recordings(
        _ asked: RouteRequest, _ own: @Sendable (RouteRequest) async throws -> Response
    ) async throws -> Response {
        let limit =
            try asked.wholeNumber("limit", in: 1...RecordingService.maxAtOnce) ?? RecordingService.usualNumber
        var query = "limit=\(limit)"
        if let before = asked.query("before") {
            let place = try await place(of: before, asked, own)
            query += "&" + RecordingPlace.query + "=" + PublicAddress.segment(place.description)
        } else {
            query += "&" + RecordingPlace.query + "=" + RecordingPlace.newest.description
        }
        let (items, missing) = try await merged(asked, "/api/recordings?" + query, own)
        let sorted = items.sorted { RecordingPlace($0) > RecordingPlace($1) }
        return Self.response(Array(sorted.prefix(limit)), missing)
    }

    private func place(
        of id: String, _ asked: RouteRequest, _ own: @Sendable (RouteRequest) async throws -> Response
    ) async throws -> RecordingPlace {
        let uri = "/api/recordings?" + RecordingPlace.single + "=" + PublicAddress.segment(id)
        let nodes = front.node(ofID: id).map { [$0] } ?? [front.directory.here] + front.others
        for node in nodes {
            let isHere = node.id == front.directory.here.id
            let limit = front.timing.list
            let body =
                isHere
                ? try await ownAnswer(asked, uri, own)
                : await NodeRequests(front: front).ask(node, .get, uri, asked, within: limit)?.body
            if let item = body.flatMap({ Self.list($0) })?.first { return RecordingPlace(item) }
        }
        throw APIError.badRequest(
            "before: there is no such recording (any more); leave it out to begin with the newest")
    }

    private func ownAnswer(
        _ asked: RouteRequest, _ uri: String, _ own: @Sendable (RouteRequest) async throws -> Response
    ) async throws -> [UInt8]? {
        var request = asked
        var head = asked.request.head
        head.path = uri
        head.method = .get
        request.request = Request(head: head, body: HummingbirdCore.RequestBody(buffer: .init()))
        let response = try await own(request)
        return response.status == .ok ? try await response.wholeBody() : nil
    }

    // MARK: All nodes

    private func merged(
        _ asked: RouteRequest, _ uri: String, _ own: @Sendable (RouteRequest) async throws -> Response
    ) async throws -> (items: [JSONValue], missing: [String]) {
        async let others = parts(asked, uri, of: front.others)
        // A refusal here would be one everywhere: the rules of access are the same.
        let body = try await ownAnswer(asked, uri, own)
        guard let body, let items = Self.list(body) else { throw APIError(.internalFailure, "this is no list") }
        let parts = await others
        return (
            items + parts.flatMap { $0.items ?? [] }, parts.filter { $0.items == nil }.map(\.node).sorted()
        )
    }

    private func parts(_ asked: RouteRequest, _ uri: String, of nodes: [NodeRecord]) async -> [Part] {
        await withTaskGroup(of: Part.self) { group in
            for node in nodes {
                group.addTask { [front] in
                    let answer = await NodeRequests(front: front).ask(
                        node, .get, uri, asked, within: front.timing.list)
                    return (node.id, answer.flatMap { $0.status == .ok ? Self.list($0.body) : nil })
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func list(_ body: [UInt8]) -> [JSONValue]? {
        guard case .array(let items)? = try? JSON.decode(JSONValue.self, from: body) else { return nil }
        return items
    }

    private static func response(_ items: [JSONValue], _ missing: [String]) -> Response {
        var response = Response.json(.array(items))
        if !missing.isEmpty { response.headers[.incomplete] = missing.joined(separator: ", ") }
        return response
    }

    private static func text(_ item: JSONValue, _ key: String) -> String {
        if case .string(let text)? = item[key] { text } else { "" }
    }
}
