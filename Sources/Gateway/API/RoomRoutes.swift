import Conference
import Hummingbird

/// The routes of rooms and participants.
extension RouteTable {
    /// - Parameter policy: says who may see the participants of private rooms.
    mutating func addRooms(_ conference: any ConferenceService, limits: RequestLimits, policy: AccessPolicy) {
        add(
            Route(
                .get, "/api/rooms", .reader,
                RouteDescription(
                    tag: "rooms", summary: "All rooms",
                    answers: [.json("The rooms.", Schema.list(of: Schema.ref("RoomSummary")))])
            ) { _ in .json(.array(conference.rooms().map(\.summary))) })
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
                guard let room = conference.room(id) else { throw ConferenceError.roomNotFound(id) }
                return .json((await policy.isInsider(asked) ? room : room.forOutsiders).json)
            })
        add(
            Route(
                .put, "/api/rooms/{room}", .admin,
                RouteDescription(
                    tag: "rooms", summary: "Creates a room, or changes one",
                    body: ("application/json", Schema.ref("RoomSettings")),
                    answers: [.json("Changed.", Schema.ref("Room")), .json(201, "Created.", Schema.ref("Room"))],
                    failures: [400, 409, 413, 503])
            ) { asked in
                let room = try asked.room()
                let change = try RoomSettingsChange(try await asked.object(keys: RoomSettingsChange.keys))
                do throws(ConferenceError) {
                    let (info, isNew) = try conference.createRoom(room, change)
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
                try conference.endRoom(try asked.room())
                return Response(status: .noContent)
            })
        add(
            Route(
                .get, "/api/rooms/{room}/snapshot.png", .insider,
                RouteDescription(
                    tag: "rooms", summary: "The current composite picture",
                    answers: [.file("The picture.", "image/png")],
                    failures: [404])
            ) { asked in
                try limits.checkSnapshot(asked)
                return .bytes(try await conference.snapshot(try asked.room()), type: "image/png")
            })
        addParticipants(conference)
    }

    private mutating func addParticipants(_ conference: any ConferenceService) {
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
                return .json(try conference.updateParticipant(asked.parameter("id"), in: try asked.room(), change).json)
            })
        add(
            Route(
                .delete, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "Removes a participant", answers: [.empty(204, "Removed.")],
                    failures: [404])
            ) { asked in
                try conference.removeParticipant(asked.parameter("id"), in: try asked.room())
                return Response(status: .noContent)
            })
        add(
            Route(
                .get, path + "/stats", .insider,
                RouteDescription(
                    tag: "participants", summary: "Statistics of the media from and to a participant",
                    answers: [.json("The statistics.", Schema.ref("Statistics"))], failures: [404])
            ) { asked in .json(try await conference.statistics(asked.parameter("id"), in: try asked.room()).json) })
    }
}

extension RoomSettingsChange {
    static let keys = [
        "layout", "onPresent", "width", "height", "framesPerSecond", "locked", "layoutLocked", "admit", "pin",
        "maxParticipants", "maxViewers",
    ]

    /// - Throws: 400 for a value of the wrong type, and for a text that cannot be a layout's name. The conference
    ///   checks the values.
    init(_ body: RequestBody) throws(APIError) {
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
        maxViewers = try body.integer("maxViewers")
        maxParticipants = try body.integer("maxParticipants")
        if let layout, !LayoutInfo.isName(layout) {
            throw .badRequest("layout: the name of a layout (1 to 64 of a-z, 0-9, - and _)")
        }
    }
}

extension ParticipantChange {
    static let keys = ["audioMuted", "videoMuted", "pinned", "role", "volume", "name"]

    /// - Throws: 400 for a value of the wrong type.
    init(_ body: RequestBody) throws(APIError) {
        self.init()
        audioMuted = try body.bool("audioMuted")
        videoMuted = try body.bool("videoMuted")
        pinned = try body.bool("pinned")
        role = try body.choice("role", Role.self)
        volume = try body.number("volume")
        name = try body.text("name")
    }
}
