import Admission
import Basics
import Conference
import Hummingbird
import WebServer

/// The routes of the breakout groups of a room.
extension RouteTable {
    mutating func addBreakout(_ breakouts: any ConferenceBreakouts) {
        let path = "/api/rooms/{room}/breakout"
        add(
            Route(
                .get, path, .admin,
                RouteDescription(
                    tag: "breakout", summary: "The breakout groups with their people",
                    answers: [.json("The groups.", Schema.ref("Breakout"))], failures: [404])
            ) { asked in try Self.groups(of: try asked.room(), breakouts) })
        add(
            Route(
                .put, path, .admin,
                RouteDescription(
                    tag: "breakout",
                    summary:
                        "Makes groups in the place of others that are not open, fills them where asked, and opens them where asked",
                    body: ("application/json", Schema.ref("BreakoutPlan")),
                    answers: [.json("As they are now.", Schema.ref("Breakout"))], failures: [400, 404, 409, 413, 503])
            ) { asked in
                let room = try asked.room()
                let plan = try await asked.object(keys: ["groups", "mayChoose", "fill", "places", "open", "endsIn"])
                try breakouts.perform(try plan.breakoutPlan(), in: room)
                return try Self.groups(of: room, breakouts)
            })
        add(
            Route(
                .patch, path, .admin,
                RouteDescription(
                    tag: "breakout",
                    summary: "Renames and opens groups, moves people, sets the end, or calls everybody back",
                    body: ("application/json", Schema.ref("BreakoutChange")),
                    answers: [.json("As they are now.", Schema.ref("Breakout"))], failures: [400, 404, 409, 413, 503])
            ) { asked in
                let room = try asked.room()
                let change = try await asked.object(
                    keys: ["names", "mayChoose", "fill", "places", "open", "endsIn", "countdown"])
                try breakouts.perform(try change.breakoutChange(), in: room)
                return try Self.groups(of: room, breakouts)
            })
        add(
            Route(
                .delete, path, .admin,
                RouteDescription(
                    tag: "breakout", summary: "Brings everybody back at once, and forgets the groups",
                    answers: [.empty(204, "Nobody is in a group any more.")], failures: [404, 409])
            ) { asked in
                try breakouts.perform([.close], in: try asked.room())
                return Response(status: .noContent)
            })
    }

    private static func groups(of room: String, _ breakouts: any ConferenceBreakouts) throws -> Response {
        let info = try breakouts.info(of: room)
        return .json(info?.json ?? ["state": "none", "groups": [], "mayChoose": false, "speakers": []])
    }
}

extension ObjectBody {
    fileprivate func breakoutPlan() throws(APIError) -> [BreakoutRequest] {
        let most = BreakoutPlan.allowedGroups
        var names: [String] = []
        if case .integer(let count)? = members["groups"] {
            guard most.contains(count) else { throw .badRequest("groups: \(most.lowerBound) to \(most.upperBound)") }
            names = (1...count).map { "Group \($0)" }
        } else if case .array(let list)? = members["groups"] {
            for value in list {
                guard case .string(let name) = value else { throw .badRequest("groups: a number, or a list of names") }
                names.append(name)
            }
        } else {
            throw .badRequest("groups: a number, or a list of names")
        }
        var requests: [BreakoutRequest] = [
            .make(BreakoutPlan(names: names, mayChoose: try bool("mayChoose") ?? false))
        ]
        if let places = try places() { requests.append(.assign(places)) }
        if try bool("fill") == true { requests.append(.fill) }
        let length = try duration("endsIn")
        if try bool("open") == true {
            requests.append(.open(endsIn: length))
        } else if length != nil {
            throw .badRequest("endsIn: only with open")
        }
        return requests
    }

    fileprivate func breakoutChange() throws(APIError) -> [BreakoutRequest] {
        var requests: [BreakoutRequest] = []
        for (key, value) in (try object("names") ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let number = Int(key), case .string(let name) = value else {
                throw .badRequest("names: the names by the numbers of their groups")
            }
            requests.append(.rename(number, name))
        }
        if let mayChoose = try bool("mayChoose") { requests.append(.allowChoice(mayChoose)) }
        if let places = try places() { requests.append(.assign(places)) }
        if try bool("fill") == true { requests.append(.fill) }
        let length = try duration("endsIn")
        if try bool("open") == true {
            requests.append(.open(endsIn: length))
        } else if members["endsIn"] != nil {
            requests.append(.setEnd(in: length))
        }
        if let countdown = try duration("countdown") { requests.append(.callBack(countdown)) }
        if requests.isEmpty { throw .badRequest("the body: nothing to change") }
        return requests
    }

    private func places() throws(APIError) -> [String: Int]? {
        guard let object = try object("places") else { return nil }
        var places: [String: Int] = [:]
        for (id, value) in object {
            guard case .integer(let number) = value else {
                throw .badRequest("places: the numbers of groups by the ids of participants; 0 is the room itself")
            }
            places[id] = number
        }
        return places
    }

    private func duration(_ key: String) throws(APIError) -> Duration? {
        guard let seconds = try number(key) else { return nil }
        guard let duration = BreakoutPlan.duration(seconds) else { throw .badRequest("\(key): a number of seconds") }
        return duration
    }
}
