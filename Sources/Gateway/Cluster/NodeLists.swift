import Basics
import Cluster
import Conference
import Foundation
import HTTPTypes
import Hummingbird

/// Lists of all nodes as one. A node that does not answer in time is named in `Tessera-Incomplete`.
struct NodeLists: Sendable {
    let front: ClusterFront

    private typealias Part = (node: String, items: [JSONValue]?)

    func answer(
        _ list: ClusterList, _ asked: RouteRequest, own: @Sendable (RouteRequest) async throws -> Response
    ) async throws -> Response {
        switch list {
        case .rooms:
            let (items, missing) = try await merged(asked, asked.request.uri.string, own)
            return Self.response(Self.byAge(items), missing)
        case .recordings: return try await recordings(asked, own)
        }
    }

    /// The rooms of all nodes: the data of a stream's `reset`.
    func rooms(_ asked: RouteRequest, own: @Sendable (RouteRequest) async throws -> Response) async -> [JSONValue] {
        Self.byAge((try? await merged(asked, "/api/rooms", own))?.items ?? [])
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
            try asked.wholeNumber("limit", in: 1...Conference.maxRecordingsAtOnce) ?? Conference.recordingsAtOnce
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
        request.request = Request(head: head, body: RequestBody(buffer: .init()))
        let response = try await own(request)
        return response.status == .ok ? try await response.wholeBody() : nil
    }

    // MARK: All nodes

    private func merged(
        _ asked: RouteRequest, _ uri: String, _ own: @Sendable (RouteRequest) async throws -> Response
    ) async throws -> (items: [JSONValue], missing: [String]) {
        async let others = parts(asked, uri)
        // A refusal here would be one everywhere: the rules of access are the same.
        let body = try await ownAnswer(asked, uri, own)
        guard let body, let items = Self.list(body) else { throw APIError(.internalFailure, "this is no list") }
        let parts = await others
        return (
            items + parts.flatMap { $0.items ?? [] }, parts.filter { $0.items == nil }.map(\.node).sorted()
        )
    }

    private func parts(_ asked: RouteRequest, _ uri: String) async -> [Part] {
        await withTaskGroup(of: Part.self) { group in
            for node in front.others {
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

    fileprivate static func text(_ item: JSONValue, _ key: String) -> String {
        if case .string(let text)? = item[key] { text } else { "" }
    }
}

/// Where a recording stands in the list of all nodes: behind those that began later.
struct RecordingPlace: Sendable, Comparable, CustomStringConvertible {
    /// As in JSON, in whole seconds: such texts sort as their times do.
    var startedAt: String
    var id: String

    /// The queries between nodes. `behind=TIME~ID`: only recordings behind this place, in the order of places;
    /// `single=ID`: only this one.
    static let query = "behind"
    static let single = "single"
    static let newest = RecordingPlace(startedAt: "9999", id: "")

    init(startedAt: String, id: String) {
        self.startedAt = startedAt
        self.id = id
    }

    init(_ item: JSONValue) {
        self.init(startedAt: NodeLists.text(item, "startedAt"), id: NodeLists.text(item, "id"))
    }

    init?(_ text: String) {
        guard let mark = text.firstIndex(of: "~") else { return nil }
        self.init(startedAt: String(text[..<mark]), id: String(text[text.index(after: mark)...]))
    }

    var description: String { startedAt + "~" + id }

    static func < (first: RecordingPlace, second: RecordingPlace) -> Bool {
        (first.startedAt, first.id) < (second.startedAt, second.id)
    }

    /// The recordings of this node behind the place, the newest first.
    ///
    /// - Parameter page: the recordings that began before one of this node (nil: all), the newest first.
    func page(limit: Int, _ page: (_ before: String?) -> [JSONValue]) -> [JSONValue] {
        var found: [JSONValue] = []
        var last: String?
        while true {
            let items = page(last)
            // One more second than asked for is whole, so that its order by id is right.
            guard let next = items.first else { break }
            if found.count >= limit, RecordingPlace(next).startedAt < RecordingPlace(found[found.count - 1]).startedAt {
                break
            }
            found += items.filter { RecordingPlace($0) < self }
            last = items.last.map { RecordingPlace($0).id }
        }
        return Array(found.sorted { RecordingPlace($0) > RecordingPlace($1) }.prefix(limit))
    }
}

extension ConferenceService {
    /// The part of this node in a list of all nodes; nil where the request asks for no such part.
    func recordings(forNode asked: RouteRequest, limit: Int) throws(APIError) -> [JSONValue]? {
        if let id = asked.query(RecordingPlace.single) { return recording(id).map { [$0.jsonForReaders] } ?? [] }
        guard let text = asked.query(RecordingPlace.query) else { return nil }
        guard let place = RecordingPlace(text) else { throw .badRequest("behind: TIME~ID") }
        return place.page(limit: limit) { before in
            recordings(before: before, limit: Conference.recordingsAtOnce).map(\.jsonForReaders)
        }
    }
}
