package import Admission
import Conference
import FoundationEssentials
import Hummingbird
import WebServer

/// The recordings of a room's meeting, for those who are in it.
extension RouteTable {
    package mutating func addMeeting(_ seats: any ConferenceSeats, links: RecordingLinks) {
        add(
            Route(
                .get, "/api/rooms/{room}/recordings", .endpoint,
                RouteDescription(
                    tag: "recordings",
                    summary:
                        "The recordings of the present meeting, for who sits there and may record: Authorization: Bearer "
                        + "with the id and the secret of joined.you.resume, joined by a dot",
                    answers: [
                        .json("The list, the newest first.", Schema.list(of: Schema.ref("MeetingRecording")))
                    ],
                    failures: [400, 401, 403])
            ) { asked in
                let seat = try seats.seat(of: try asked.seatClaim(), in: try asked.room())
                let now = Int(Date().timeIntervalSince1970)
                let (own, recordings) = (seat.ownRecordings(), try seat.recordings())
                return .json(
                    .array(
                        recordings.map { recording in
                            let json = recording.json(links, expires: now + RecordingLinks.meetingLife)
                            guard own.contains(recording.id) else { return json }
                            let expires = now + RecordingLinks.keyLife
                            return json.with("key", .string(links.key(of: recording.id, expires: expires))).with(
                                "keyExpiresAt", .date(Date(timeIntervalSince1970: TimeInterval(expires))))
                        }))
            })
    }
}

extension RecordingInfo {
    /// A `MeetingRecording`. The link is a path, so that it works at every address of the server.
    fileprivate func json(_ links: RecordingLinks, expires: Int) -> JSONValue {
        guard state == .finished || state == .failed, bytes ?? 0 > 0, case .object(var members) = json else {
            return json
        }
        members["url"] = .string(links.path(of: id, expires: expires))
        members["expiresAt"] = .date(Date(timeIntervalSince1970: TimeInterval(expires)))
        return .object(members)
    }
}
