import Hummingbird

/// Rooms and the people in them.
extension RouteTable {
    mutating func addRooms(_ service: any RoomService, limits: RequestLimits) {
        add(
            Route(
                .get, "/api/rooms", .reader,
                RouteDescription(
                    tag: "rooms", summary: "All rooms", answers: [.json("The rooms.", Schema.list(of: Schema.ref("RoomSummary")))])
            ) { _ in .json(await service.rooms()) })
        add(
            Route(
                .get, "/api/rooms/{room}", .reader,
                RouteDescription(
                    tag: "rooms", summary: "One room with its participants, tiles, renditions and recording",
                    answers: [.json("The room.", Schema.ref("Room"))], failures: [404])
            ) { asked in .json(try await service.room(try asked.room())) })
        add(
            Route(
                .put, "/api/rooms/{room}", .admin,
                RouteDescription(
                    tag: "rooms", summary: "Creates a room, or changes one", body: ("application/json", Schema.ref("RoomSettings")),
                    answers: [.json("Changed.", Schema.ref("Room")), .json(201, "Created.", Schema.ref("Room"))],
                    failures: [400, 409, 413, 503])
            ) { asked in
                let room = try asked.room()
                let patch = try await asked.object(RoomPatch.self, keys: RoomPatch.keys)
                if let fault = patch.fault { throw APIError.badRequest(fault) }
                do throws(ServiceError) {
                    let (detail, created) = try await service.putRoom(room, patch)
                    return .json(detail, status: created ? .created : .ok)
                } catch {
                    // It is the body that names what is not there, not the path.
                    throw error.code == "unknown_layout" ? APIError(.badRequest, error.code, error.message) : APIError(error)
                }
            })
        add(
            Route(
                .delete, "/api/rooms/{room}", .admin,
                RouteDescription(
                    tag: "rooms", summary: "Ends the call for everyone", answers: [.empty(204, "Ended.")], failures: [404])
            ) { asked in
                try await service.endRoom(try asked.room())
                return Response(status: .noContent)
            })
        add(
            Route(
                .get, "/api/rooms/{room}/snapshot.png", .reader,
                RouteDescription(
                    tag: "rooms", summary: "The current composite picture", answers: [.file("The picture.", "image/png")],
                    failures: [404])
            ) { asked in
                try limits.checkSnapshot(asked)
                return .bytes(try await service.snapshot(try asked.room()), type: "image/png")
            })
        addParticipants(service)
    }

    private mutating func addParticipants(_ service: any RoomService) {
        let path = "/api/rooms/{room}/participants/{id}"
        add(
            Route(
                .patch, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "Mutes, pins, renames a participant, or gives another role or volume",
                    body: ("application/json", Schema.ref("ParticipantChange")),
                    answers: [.json("As it is now.", Schema.ref("Participant"))], failures: [400, 404, 413])
            ) { asked in
                let patch = try await asked.object(ParticipantPatch.self, keys: ParticipantPatch.keys)
                if let fault = patch.fault { throw APIError.badRequest(fault) }
                return .json(try await service.changeParticipant(asked.parameter("id"), in: try asked.room(), patch))
            })
        add(
            Route(
                .delete, path, .admin,
                RouteDescription(
                    tag: "participants", summary: "Removes a participant", answers: [.empty(204, "Removed.")], failures: [404])
            ) { asked in
                try await service.removeParticipant(asked.parameter("id"), from: try asked.room())
                return Response(status: .noContent)
            })
        add(
            Route(
                .get, path + "/stats", .reader,
                RouteDescription(
                    tag: "participants", summary: "What is received from a participant and sent to it",
                    answers: [.json("The figures.", Schema.ref("Statistics"))], failures: [404])
            ) { asked in .json(try await service.statistics(of: asked.parameter("id"), in: try asked.room())) })
    }
}
