package import Admission
import Basics
import Conference
import HTTPTypes
import Hummingbird
package import WebServer

/// The routes of server-sent events.
extension RouteTable {
    package mutating func addEvents(
        _ conference: ConferenceServices, readers: SharedLimit, policy: AccessPolicy
    ) {
        let parameters: [RouteDescription.Parameter] = [
            .query(
                "types",
                "Names of types with commas between, `participant.*` for all that begin so; without it all but "
                    + ServerEvent.Kind.allCases.filter(\.isOnRequest).map(\.rawValue).joined(separator: ", ") + "."),
            .header(
                "Last-Event-ID",
                "The id of the last event that the reader has: it gets all later ones, or `reset` if they are not in memory any more."
            ),
            .query(
                "lastEventId",
                "The same for a page that was loaded again: a new EventSource sends no Last-Event-ID. The header counts where both come."
            ),
        ]
        let answer = RouteDescription.Answer.file(
            "A stream of events (WHATWG HTML §9.2), each with an `Event` as data; first `reset` with what exists, unless the reader continues.",
            "text/event-stream")

        let source = EventSource(conference: conference, readers: readers, policy: policy)
        add(
            Route(
                .get, "/api/events", .reader,
                RouteDescription(
                    tag: "events", summary: "What happens in all rooms, as it happens",
                    parameters: [.query("room", "Only events of this room.")] + parameters, answers: [answer],
                    failures: [400]),
                placement: .events
            ) { asked in
                let room = asked.query("room").map(Names.composed)
                if let room, !Names.isRoom(room) { throw APIError.badRequest("room: \(Names.roomRule)") }
                return try source.stream(asked, room: room) {
                    let rooms = conference.rooms.list().filter { room == nil || $0.id == room }
                    return ["rooms": .array(rooms.map(\.summary))]
                }
            })
        add(
            Route(
                .get, "/api/rooms/{room}/events", .insider,
                RouteDescription(
                    tag: "events", summary: "What happens in one room, also before it exists",
                    parameters: parameters, answers: [answer], failures: [400])
            ) { asked in
                let room = try asked.room()
                return try source.stream(asked, room: room) {
                    guard let info = conference.rooms.room(room) else { return ["room": .null] }
                    return ["room": policy.isInsider(asked) ? info.json : info.jsonForOutsiders]
                }
            })
    }
}

/// Opens streams of events.
private struct EventSource: Sendable {
    let conference: ConferenceServices
    let readers: SharedLimit
    let policy: AccessPolicy

    /// - Parameter state: the data of `reset`.
    /// - Throws: 400 for unknown types, 429 where too many read.
    func stream(
        _ asked: RouteRequest, room: String?, state: @escaping @Sendable () async -> JSONValue
    ) throws(APIError) -> Response {
        let filter = try EventFilter(room: room, types: asked.query("types"))
        guard let place = readers.take(asked.source.client, as: asked.standing) else {
            throw APIError(
                .tooFast,
                "at most \(EventReaders.limit) readers of events at once, \(EventReaders.perAddress) of one address: close some",
                headers: [.retryAfter: "10"])
        }
        var stream = EventStream(
            bus: conference.state.events, filter: filter,
            // In a cluster the id names the last event of every node.
            last: (asked.headers[.lastEventID] ?? asked.query("lastEventId")).flatMap {
                EventID($0) ?? EventCursor($0).id(in: conference.state.events.epoch)
            },
            mayReadPrivate: { policy.readsPrivate(asked) }, state: state,
            mayReadRecordings: { (try? await policy.check(.recordings, asked)) != nil })
        stream.place = place
        return Response(
            status: .ok,
            headers: [
                .contentType: "text/event-stream", .cacheControl: "no-store",
                // nginx would keep the events back until its buffer is full.
                .accelBuffering: "no",
            ],
            body: ResponseBody { [stream] writer in
                try await stream.write(to: &writer)
            })
    }
}

/// The limits of those who read events at the same time.
package enum EventReaders {
    package static let limit = 200
    /// Several dashboards, each with a stream for every room, behind one address.
    package static let perAddress = 64

    package static func places() -> SharedLimit { SharedLimit("event_readers", total: limit, perAddress: perAddress) }
}

extension HTTPField.Name {
    fileprivate static let accelBuffering = HTTPField.Name("X-Accel-Buffering") ?? .accept
}
