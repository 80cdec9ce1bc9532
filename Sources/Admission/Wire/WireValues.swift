import Basics
import Conference
import FoundationEssentials
import Recording
import RoomMedia
package import WebServer

// The JSON of the conference's values, in the API and in signalling.

extension RoomInfo {
    /// An element of `GET /api/rooms`.
    package var summary: JSONValue {
        [
            "id": .string(id), "participants": .integer(participants.count), "layout": .string(layout),
            "recording": recording?.json ?? .null, "createdAt": .date(createdAt),
        ]
    }

    package var json: JSONValue { json(hidesPeople: false) }

    /// The room as outsiders see it: where it is private (`RoomSettings.isPrivate`), without who is in it.
    package var jsonForOutsiders: JSONValue { json(hidesPeople: settings.isPrivate) }

    private func json(hidesPeople: Bool) -> JSONValue {
        .object(
            [
                "id": .string(id), "createdAt": .date(createdAt), "layout": .string(layout),
                "onPresent": .string(settings.onPresent.text), "width": .integer(settings.width),
                "height": .integer(settings.height), "framesPerSecond": .integer(settings.framesPerSecond),
                "locked": .bool(settings.locked), "layoutLocked": .bool(settings.layoutLocked),
                "admit": .string(settings.admit.rawValue), "pin": .bool(settings.pin != nil),
                "hostKey": .bool(hasHostKey),
                "maxParticipants": .integer(settings.maxParticipants), "maxViewers": .integer(settings.maxViewers),
                "hls": .bool(settings.hls), "people": .integer(participants.count), "waiting": .integer(waiting),
                "participants": .array(hidesPeople ? [] : participants.map(\.json)),
                "tiles": .array(hidesPeople ? [] : tiles.tiles.map(\.json)),
                "views": .array(hidesPeople ? [] : views.map(\.json)),
                "renditions": .array(hidesPeople ? [] : renditions.map(\.json)),
                "recording": recording?.json ?? .null, "recordings": .array(recordings.map(\.json)),
                "streaming": .bool(isStreamed),
                "preRoll": .number(preRoll.roundedSeconds),
            ], where: settings.policy.members.mapValues { Optional($0) })
    }
}

extension RoomAccess {
    /// The members of `room` messages and of `joined.settings`.
    package var members: [String: JSONValue] {
        [
            "locked": .bool(locked), "layoutLocked": .bool(layoutLocked), "admit": .string(admit.rawValue),
            "pin": .bool(hasPIN), "hls": .bool(hls),
        ].merging(policy.members) { first, _ in first }
    }
}

extension RoomPolicy {
    fileprivate var members: [String: JSONValue] {
        [
            "muteOnEntry": .bool(muteOnEntry), "share": .string(share.rawValue), "chat": .string(chat.rawValue),
            "unmute": .string(unmute.rawValue),
        ]
    }
}

extension WaitingPerson {
    package var json: JSONValue {
        .object(["id": .string(id), "name": .string(name)], where: ["removed": wasRemoved ? true : nil])
    }
}

extension ViewInfo {
    package var json: JSONValue {
        .object(
            [
                "name": .string(shown.view), "layout": .string(shown.name), "scope": .string(shown.scope.rawValue),
                "width": .integer(width), "height": .integer(height), "framesPerSecond": .integer(framesPerSecond),
                "participants": .integer(participants), "recorded": .bool(isRecorded),
            ],
            where: [
                "names": names.map { .bool($0) },
                "pin": shown.pins.isEmpty ? nil : .array(shown.pins.map { .string($0) }),
            ])
    }
}

extension ParticipantInfo {
    package var json: JSONValue {
        .object(
            [
                "id": .string(id), "name": .string(name), "role": .string(role.rawValue), "audio": .bool(audio),
                "video": .bool(video),
                "hand": .bool(hand), "speaking": .bool(speaking), "presenting": .bool(presenting),
                "audioMuted": .bool(audioMuted),
                "videoMuted": .bool(videoMuted), "pinned": .bool(pinned), "volume": .number(volume),
                "recorded": .bool(recorded),
            ],
            where: [
                "unrecordedBy": recorded ? nil : .array(unrecordedBy.map { .string($0.rawValue) }),
                "input": isInput ? true : nil, "handOrder": handOrder.map { .integer($0) },
                "missing": missing.isEmpty ? nil : .array(missing.names.map { .string($0) }),
                "group": group == 0 ? nil : .integer(group),
            ])
    }
}

extension TilesInfo.Tile {
    package var json: JSONValue {
        .object(
            [
                "participant": .string(participant), "x": .integer(x), "y": .integer(y), "width": .integer(width),
                "height": .integer(height),
                "label": .bool(label),
            ], where: ["source": isScreen ? "screen" : nil, "signs": signs ? nil : false])
    }
}

extension RenditionInfo {
    package var json: JSONValue {
        .object(
            [
                "view": .string(view), "codec": .string(codec.rawValue), "kind": .string(kind),
                "width": .integer(width),
                "height": .integer(height), "framesPerSecond": .integer(framesPerSecond),
                "bitrate": .integer(bitRate.bitsPerSecond),
                "peers": .integer(members),
            ], where: ["outgoing": isOutgoing ? true : nil])
    }
}

extension RecordingInfo {
    package var json: JSONValue {
        .object(
            [
                "id": .string(id), "room": .string(room), "file": .string(file), "state": .string(state.rawValue),
                "startedAt": .preciseDate(startedAt), "series": .string(series),
            ],
            where: [
                "endedAt": endedAt.map { .preciseDate($0) }, "endedBy": endedBy.map { .string($0.rawValue) },
                "seriesPart": partOfSeries > 1 ? .integer(partOfSeries) : nil,
                "duration": duration.map { .number($0.roundedSeconds) }, "bytes": bytes.map { .integer($0) },
                "parts": parts > 1 ? .integer(parts) : nil,
                "files": files.isEmpty ? nil : .array(files.map(\.json)),
                "preRoll": preRoll > .zero ? .number(preRoll.inSeconds) : nil,
                "view": view.map { .string($0) }, "audioOnly": audioOnly ? true : nil,
                "group": group.map { ["id": .integer($0.number), "name": .string($0.name)] },
                "tracks": tracks.isEmpty ? nil : .array(tracks.map(\.json)),
                "title": title.map { .string($0) }, "repaired": isRepaired ? true : nil, "frames": frames.map(\.json),
                "dropped": dropped.isEmpty
                    ? nil : ["video": .integer(dropped.video), "audio": .integer(dropped.audio)],
                "error": failure.map { .string($0) },
            ])
    }
}

extension RecordingFrames {
    fileprivate var json: JSONValue {
        .object(
            ["wanted": .number(wanted), "overloadedSeconds": .number(overloaded.toMilliseconds)],
            where: ["perSecond": perSecond.map { .number($0) }])
    }
}

extension RecordingTrack {
    fileprivate var json: JSONValue {
        .object(
            [
                "participant": .string(participant), "name": .string(name), "kind": .string(kind.rawValue),
                "file": .string(file), "codec": .string(codec), "start": .number(start.toMilliseconds),
            ],
            where: [
                "duration": duration.map { .number($0.toMilliseconds) }, "bytes": bytes.map { .integer($0) },
                "rotation": rotation.map { .integer($0) },
            ])
    }
}

extension RecordingInfo {
    /// For those who may read recordings: with what the delivery's program wrote.
    package var jsonForReaders: JSONValue { delivery.map { json.with("delivery", $0.json) } ?? json }
}

extension RecordingDelivery {
    fileprivate var json: JSONValue {
        .object(
            ["state": .string(state.rawValue), "attempts": .integer(attempts)],
            where: ["location": location.map { .string($0) }, "message": message.map { .string($0) }])
    }
}

extension RecordingPart {
    fileprivate var json: JSONValue {
        .object(
            ["file": .string(file)],
            where: ["duration": duration.map { .number($0.toMilliseconds) }, "bytes": bytes.map { .integer($0) }])
    }
}

extension LayoutInfo {
    package var json: JSONValue {
        .object(
            ["name": .string(name), "description": .string(description), "example": .array(example.map(\.json))],
            where: ["descriptions": descriptions.isEmpty ? nil : .object(descriptions.mapValues { .string($0) })])
    }
}

extension LayoutInfo.Frame {
    fileprivate var json: JSONValue {
        // Three digits place a tile to two pixels of 1920.
        func rounded(_ fraction: Double) -> JSONValue { .number((fraction * 1000).rounded() / 1000) }
        return ["x": rounded(x), "y": rounded(y), "width": rounded(width), "height": rounded(height)]
    }
}

extension ParticipantStatistics {
    package var json: JSONValue {
        [
            "connected": .bool(isConnected), "transport": .string(transport),
            "roundTripMs": .number(roundTrip.inMilliseconds),
            "estimate": .integer(estimate.bitsPerSecond), "rendition": .string(rendition),
            "renditionReason": .string(renditionReason.sentence),
            "renditionReasonCode": .string(renditionReason.code.rawValue),
            "audioDelayMs": .number(audioDelay.inMilliseconds), "concealedMs": .number(concealed.inMilliseconds),
            "freezes": .integer(freezes), "audioVideoOffsetMs": .number(audioVideoOffset.inMilliseconds),
            "received": .object(
                ["audio": receivedAudio.json, "video": receivedVideo.json], where: ["screen": receivedScreen?.json]),
            "sent": ["audio": sentAudio.json, "video": sentVideo.json],
            "refused": .object(faults.named.mapValues { .integer($0) }),
        ]
    }
}

extension ParticipantStatistics.Stream {
    fileprivate var json: JSONValue {
        [
            "codec": .string(codec), "width": .integer(width), "height": .integer(height),
            "framesPerSecond": .number(framesPerSecond),
            "frames": .integer(frames), "keyframes": .integer(keyframes), "packets": .integer(packets),
            "bytes": .integer(bytes),
            "bitrate": .integer(bitRate.bitsPerSecond), "packetsLost": .integer(packetsLost), "loss": .number(loss),
            "jitterMs": .number(jitter.inMilliseconds), "nacks": .integer(nacks),
            "keyframeRequests": .integer(keyframeRequests),
            "retransmitted": .integer(retransmitted),
        ]
    }
}

extension ChatMessage {
    package var json: JSONValue {
        .object(
            [
                "id": .string(id), "from": .string(from), "name": .string(fromName), "text": .string(text),
                "at": .date(at),
            ],
            where: [
                "to": to.map { .string($0) }, "picture": picture?.json, "group": group == 0 ? nil : .integer(group),
                "all": isForAll ? true : nil,
            ])
    }
}

extension ChatPicture {
    /// The picture in chat messages and in the answer to who sent it.
    package var json: JSONValue {
        ["url": .string(path), "type": .string(type), "bytes": .integer(bytes)]
    }
}

// Values that clients choose by name.
extension Role: Decodable {}
extension LayoutScope: Decodable {}
extension Admission: Decodable {}
extension RoomPolicy.Permission: Decodable {}
extension Participant.RecordAction: Decodable {}
