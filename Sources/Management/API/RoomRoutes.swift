package import Admission
package import Basics
import Conference
import Hummingbird
import RoomMedia
package import WebServer

/// The routes of rooms and participants.
extension RouteTable {
    /// - Parameter policy: says who may see the participants of private rooms.
    package mutating func addRooms(_ conference: ConferenceServices, limits: RequestLimits, policy: AccessPolicy) {
        add(
            Route(
                .get, "/api/rooms", .reader,
                RouteDescription(
                    tag: "rooms", summary: "All rooms",
                    answers: [.json("The rooms.", Schema.list(of: Schema.ref("RoomSummary")))]),
                placement: .everywhere(.rooms)
            ) { _ in .json(.array(conference.rooms.list().map(\.summary))) })
        add(
            Route(
                .get, "/api/rooms/{room}", .reader,
                RouteDescription(
                    tag: "rooms",
                    summary:
                        "One room with its participants, tiles, renditions and recording; of a room with a PIN or a waiting "
                        + "room, outsiders get empty lists",
                    answers: [.json("The room.", Schema.ref("Room"))], failures: [404])
            ) { asked in
                let id = try asked.room()
                guard let room = conference.rooms.room(id) else { throw ConferenceError.roomNotFound(id) }
                return .json(policy.isInsider(asked) ? room.json : room.jsonForOutsiders)
            })
        add(
            Route(
                .put, "/api/rooms/{room}", .admin,
                RouteDescription(
                    tag: "rooms", summary: "Creates a room, or changes one",
                    body: ("application/json", Schema.ref("RoomSettings")),
                    answers: [.json("Changed.", Schema.ref("Room")), .json(201, "Created.", Schema.ref("Room"))],
                    failures: [400, 409, 413, 503]),
                placement: .room("room", .creates)
            ) { asked in
                let room = try asked.room()
                let change = try RoomSettingsChange(try await asked.object(keys: RoomSettingsChange.keys))
                do throws(ConferenceError) {
                    let (info, isNew) = try conference.rooms.create(room, change)
                    return .json(info.json, status: isNew ? .created : .ok)
                } catch {
                    let refusal = Refusal(error)
                    // The unknown name is in the body, not in the path, so the status is not 404.
                    throw refusal.code == .unknownLayout
                        ? APIError(refusal.code, refusal.message, status: .badRequest) : APIError(refusal)
                }
            })
        add(
            Route(
                .delete, "/api/rooms/{room}", .admin,
                RouteDescription(
                    tag: "rooms", summary: "Ends the call for everyone", answers: [.empty(204, "Ended.")],
                    failures: [404])
            ) { asked in
                try conference.rooms.end(try asked.room())
                return Response(status: .noContent)
            })
        add(
            Route(
                .get, "/api/rooms/{room}/snapshot.png", .insider,
                RouteDescription(
                    tag: "rooms", summary: "The current composite picture",
                    parameters: [.query("view", "The name of the view; main without it.")],
                    answers: [.file("The picture.", "image/png")],
                    failures: [404])
            ) { asked in
                try limits.checkSnapshot(asked)
                let view = asked.query("view") ?? ViewSettings.main
                return .bytes(try await conference.rooms.snapshot(try asked.room(), view: view), type: "image/png")
            })
        addParticipants(conference.people, policy: policy)
        addWaiting(conference.people)
        addBreakout(conference.breakouts)
    }

    private mutating func addParticipants(_ people: any ConferencePeople, policy: AccessPolicy) {
        let path = "/api/rooms/{room}/participants/{id}"
        add(
            Route(
                .patch, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "Mutes, pins, renames a participant, or gives another role or volume",
                    body: ("application/json", Schema.ref("ParticipantChange")),
                    answers: [.json("As it is now.", Schema.ref("Participant"))], failures: [400, 404, 413])
            ) { asked in
                let change = try ParticipantChange(try await asked.object(keys: ParticipantChange.keys))
                return .json(try people.update(asked.parameter("id"), in: try asked.room(), change).json)
            })
        add(
            Route(
                .delete, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "Removes a participant", answers: [.empty(204, "Removed.")],
                    failures: [404])
            ) { asked in
                try people.remove(asked.parameter("id"), in: try asked.room())
                return Response(status: .noContent)
            })
        add(
            Route(
                .get, path + "/stats", .insider,
                RouteDescription(
                    tag: "participants",
                    summary:
                        "Statistics of the media from and to a participant; its address only for itself and administrators",
                    answers: [.json("The statistics.", Schema.ref("Statistics"))], failures: [404])
            ) { asked in
                var statistics = try await people.statistics(asked.parameter("id"), in: try asked.room())
                // Nobody learns another's address from a mixer.
                if !policy.readsAddress(asked) { statistics.hideAddress() }
                return .json(statistics.json)
            })
    }
}

extension RoomSettingsChange {
    package static let keys = [
        "layout", "onPresent", "width", "height", "framesPerSecond", "locked", "layoutLocked", "admit", "pin",
        "hostKey", "muteOnEntry", "share", "chat", "unmute",
        "maxParticipants", "maxViewers", "hls", "views",
    ]

    /// - Throws: 400 for a value of the wrong type, and for a text that cannot be a layout's name. The conference
    ///   checks the values.
    package init(_ body: ObjectBody) throws(APIError) {
        self.init()
        layout = try body.text("layout")
        if let text = try body.text("onPresent") {
            onPresent = OnPresent(text)
            if onPresent == nil { throw .badRequest("onPresent: the name of a layout, or off") }
        }
        width = try body.integer("width")
        height = try body.integer("height")
        framesPerSecond = try body.integer("framesPerSecond")
        locked = try body.bool("locked")
        layoutLocked = try body.bool("layoutLocked")
        admit = try body.choice("admit", Admission.self)
        pin = try body.text("pin")
        hostKey = try body.text("hostKey")
        muteOnEntry = try body.bool("muteOnEntry")
        share = try body.choice("share", RoomPolicy.Permission.self)
        chat = try body.choice("chat", RoomPolicy.Permission.self)
        unmute = try body.choice("unmute", RoomPolicy.Permission.self)
        maxViewers = try body.integer("maxViewers")
        maxParticipants = try body.integer("maxParticipants")
        hls = try body.bool("hls")
        try Self.check(layout, "layout")
        guard let members = try body.object("views") else { return }
        for (name, member) in members {
            if member == .null {
                views[name] = .some(nil)
            } else {
                let view = try ObjectBody(member, named: "views.\(name)", keys: ViewSettings.keys)
                views[name] = try ViewSettings(view)
            }
        }
    }

    fileprivate static func check(_ layout: String?, _ key: String) throws(APIError) {
        if let layout, !LayoutDocument.isName(layout) {
            throw .badRequest("\(key): the name of a layout (\(LayoutDocument.nameRule))")
        }
    }
}

extension ViewSettings {
    package static let keys = ["layout", "width", "height", "framesPerSecond", "renditions", "names"]

    /// - Throws: 400 for a value of the wrong type. The conference checks the values.
    package init(_ body: ObjectBody) throws(APIError) {
        self.init()
        layout = try body.text("layout")
        width = try body.integer("width")
        height = try body.integer("height")
        framesPerSecond = try body.integer("framesPerSecond")
        names = try body.bool("names")
        try RoomSettingsChange.check(layout, body.key("layout"))
        guard let list = try body.list("renditions") else { return }
        var rungs: [ConferenceConfiguration.Rung] = []
        for (index, item) in list.enumerated() {
            let rung = try ObjectBody(
                item, named: body.key("renditions[\(index)]"), keys: ["height", "bitrate", "framesPerSecond"])
            guard let height = try rung.integer("height"), let rate = try rung.integer("bitrate"),
                RoomSettings.allowed.height.contains(height), height % 2 == 0,
                Self.rate.contains(.init(bitsPerSecond: rate))
            else {
                throw .badRequest(
                    "\(rung.key("height")), bitrate: an even number of lines, and bits per second from \(Self.rate.lowerBound) to \(Self.rate.upperBound)"
                )
            }
            let framesPerSecond = try rung.integer("framesPerSecond")
            if let framesPerSecond, !RoomSettings.allowed.framesPerSecond.contains(framesPerSecond) {
                throw .badRequest(
                    "\(rung.key("framesPerSecond")): 1 to \(RoomSettings.allowed.framesPerSecond.upperBound)")
            }
            rungs.append(.init(height: height, framesPerSecond: framesPerSecond, bitRate: .init(bitsPerSecond: rate)))
        }
        renditions = rungs.sorted { ($0.height, $0.bitRate) > ($1.height, $1.bitRate) }
    }

    /// Of a rendition.
    package static let rate = BitRate.kilobits(16)...(.kilobits(50_000))
}

extension ParticipantChange {
    package static let keys = ["audioMuted", "videoMuted", "pinned", "role", "volume", "name", "recorded"]

    /// - Throws: 400 for a value of the wrong type.
    package init(_ body: ObjectBody) throws(APIError) {
        self.init()
        audioMuted = try body.bool("audioMuted")
        videoMuted = try body.bool("videoMuted")
        pinned = try body.bool("pinned")
        role = try body.choice("role", Role.self)
        volume = try body.number("volume")
        name = try body.text("name")
        recorded = try body.bool("recorded")
    }
}
