import Conference
package import FoundationEssentials
import Recording
package import WebServer

extension Shared<ServerEvent> {
    /// The event's JSON, encoded once for all readers.
    package func text(_ epoch: String) -> [UInt8] { form("json") { event.json(epoch).bytes } }
}

extension ServerEvent {
    /// An `Event` of the API's description.
    package func json(_ epoch: String) -> JSONValue {
        Self.envelope(
            EventID(epoch: epoch, sequence: sequence), type: happening.kind.rawValue, at: time, room: room,
            happening.data)
    }

    package static func envelope(
        _ id: EventID, type: String, at time: Date, room: String?, _ data: JSONValue
    ) -> JSONValue {
        [
            "id": .string("\(id)"), "sequence": .integer(id.sequence), "type": .string(type),
            "timestamp": .string(time.formatted(.iso8601WithMilliseconds)),
            "room": room.map { .string($0) } ?? .null, "data": data,
        ]
    }
}

extension ServerEvent.Happening {
    package var data: JSONValue {
        switch self {
        case .roomStarted(let meeting), .roomMoved(let meeting): meeting.json
        case .roomEnded(let meeting, let reason): meeting.json.with("reason", .string(reason.rawValue))
        case .participantJoined(let info), .participantUpdated(let info): info.json
        case .participantLeft(let info, let reason): info.json.with("reason", .string(reason.rawValue))
        case .recordingStarted(let info), .recordingPaused(let info), .recordingResumed(let info),
            .recordingFinished(let info), .recordingFailed(let info), .recordingRecovered(let info):
            // Names of participants are not for all who may know of a recording.
            info.withoutTracks.json
        case .recordingDelivered(let info), .recordingDeliveryFailed(let info): info.jsonForReaders
        case .recordingRemoved(let info, let reason):
            info.jsonForReaders.with("reason", .string(reason.rawValue))
        case .streamStarted(let info), .streamLive(let info), .streamRetrying(let info), .streamEnded(let info),
            .streamFailed(let info):
            info.json
        case .inputStarted(let info), .inputLive(let info), .inputRetrying(let info), .inputFailed(let info),
            .inputEnded(let info):
            info.json
        case .overloadChanged(let overload):
            ["level": .integer(overload.level), "refusesRooms": .bool(overload.refusesRooms)]
        case .breakoutOpened(let groups), .breakoutChanged(let groups), .breakoutEnding(let groups): groups.json
        case .breakoutClosed: [:]
        case .speakerChanged(let id): ["participant": id.map { .string($0) } ?? .null]
        case .layoutChanged(let shown): ["view": .string(shown.view), "layout": .string(shown.name)]
        case .chat(let message): message.json
        }
    }
}

extension ServerEvent.Meeting {
    fileprivate var json: JSONValue {
        [
            "id": .string(id), "createdAt": .date(createdAt), "layout": .string(layout),
            "participants": .integer(participants),
        ]
    }
}

extension FormatStyle where Self == Date.ISO8601FormatStyle {
    /// RFC 3339 with three digits of the second: several events come within one.
    fileprivate static var iso8601WithMilliseconds: Self { Self(includingFractionalSeconds: true) }
}
