import Basics
import Conference
import Foundation
import RoomMedia

// The conference's values in the API's shapes.

extension ServiceError {
    init(_ error: ConferenceError) {
        self.init(error.code, error.message, retryAfter: error.retryAfter.map { Int($0.inSeconds.rounded(.up)) })
    }
}

extension RoomDetail {
    init(_ room: RoomInfo) {
        self.init(
            id: room.id, createdAt: room.createdAt, layout: room.layout, width: room.settings.width, height: room.settings.height,
            framesPerSecond: room.settings.framesPerSecond, locked: room.settings.locked, maxParticipants: room.settings.maxParticipants,
            participants: room.participants.map { ParticipantModel($0) }, tiles: TilesModel(room.tiles).tiles,
            renditions: room.renditions.map { rendition in
                RenditionModel(
                    codec: rendition.codec.rawValue, width: rendition.width, height: rendition.height,
                    framesPerSecond: rendition.framesPerSecond, bitrate: rendition.bitRate.bitsPerSecond, peers: rendition.members)
            }, recording: room.recording.map { RecordingModel($0) })
    }
}

extension ParticipantModel {
    init(_ info: ParticipantInfo) {
        self.init(
            id: info.id, name: info.name, role: info.role, audio: info.audio, video: info.video, hand: info.hand, speaking: info.speaking,
            presenting: info.presenting, audioMuted: info.audioMuted, videoMuted: info.videoMuted, pinned: info.pinned, volume: info.volume)
    }
}

extension TilesModel {
    init(_ info: TilesInfo) {
        self.init(
            width: info.width, height: info.height,
            tiles: info.tiles.map {
                TileModel(participant: $0.participant, x: $0.x, y: $0.y, width: $0.width, height: $0.height, label: $0.label)
            })
    }
}

extension RecordingModel {
    init(_ info: RecordingInfo) {
        self.init(
            id: info.id, room: info.room, file: info.file, state: State(rawValue: info.state.rawValue) ?? .failed, startedAt: info.startedAt,
            duration: info.duration.map { $0.inSeconds }, bytes: info.bytes,
            dropped: info.dropped.isEmpty ? nil : LossesModel(video: info.dropped.video, audio: info.dropped.audio), error: info.failure)
    }
}

extension ChatModel {
    init(_ chat: ChatMessage) { self.init(from: chat.from, name: chat.fromName, text: chat.text, to: chat.to, at: chat.at) }
}

extension MetricLine {
    init(_ sample: MetricSample) {
        self.init(
            name: sample.name, help: sample.help, kind: sample.kind == .counter ? .counter : .gauge,
            labels: sample.labels.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, value: sample.value)
    }
}

extension LineState {
    var json: JSONValue {
        [
            "estimate": .integer(estimate.bitsPerSecond), "sent": .integer(sent.bitsPerSecond), "received": .integer(received.bitsPerSecond),
            "lossDown": .number(lossDown), "lossUp": .number(lossUp), "roundTripMs": .number(roundTrip.inMilliseconds),
            "rung": .integer(rung), "reason": .string(reason), "mode": .string(mode.rawValue),
        ]
    }
}

extension ParticipantStatistics {
    var json: JSONValue {
        [
            "connected": .bool(isConnected), "transport": .string(transport), "roundTripMs": .number(roundTrip.inMilliseconds),
            "estimate": .integer(estimate.bitsPerSecond), "rendition": .string(rendition), "renditionReason": .string(renditionReason),
            "audioDelayMs": .number(audioDelay.inMilliseconds), "concealedMs": .number(concealed.inMilliseconds),
            "freezes": .integer(freezes), "audioVideoOffsetMs": .number(audioVideoOffset.inMilliseconds),
            "received": ["audio": receivedAudio.json, "video": receivedVideo.json],
            "sent": ["audio": sentAudio.json, "video": sentVideo.json],
            "refused": .object(faults.named.mapValues { .integer($0) }),
        ]
    }
}

extension ParticipantStatistics.Stream {
    fileprivate var json: JSONValue {
        [
            "codec": .string(codec), "width": .integer(width), "height": .integer(height), "framesPerSecond": .number(framesPerSecond),
            "frames": .integer(frames), "keyframes": .integer(keyframes), "packets": .integer(packets), "bytes": .integer(bytes),
            "bitrate": .integer(bitRate.bitsPerSecond), "packetsLost": .integer(packetsLost), "loss": .number(loss),
            "jitterMs": .number(jitter.inMilliseconds), "nacks": .integer(nacks), "keyframeRequests": .integer(keyframeRequests),
            "retransmitted": .integer(retransmitted), "dropped": .integer(dropped),
        ]
    }
}

extension ConferenceConfiguration {
    init(_ settings: TesseraConfiguration) {
        self.init()
        media.udp = [settings.media.listen]
        media.tcp = settings.media.tcp ? [settings.media.listen] : []
        media.announce = settings.media.announce
        media.loops = settings.media.loops
        audioThreads = settings.audio.threads
        rooms.settings.layout = settings.rooms.layout
        rooms.settings.width = settings.rooms.width
        rooms.settings.height = settings.rooms.height
        rooms.settings.framesPerSecond = settings.rooms.framesPerSecond
        rooms.settings.maxParticipants = settings.rooms.maxParticipants
        rooms.emptyTimeout = settings.rooms.emptyTimeout
        rooms.create = settings.rooms.create == .api ? .api : .onJoin
        video.codecs = settings.video.codecs
        video.renditions = settings.video.renditions.map {
            Rung(height: $0.height, framesPerSecond: $0.framesPerSecond, bitRate: $0.bitrate)
        }
        audio.bitRate = settings.audio.bitrate
        audio.maxSpeakers = settings.audio.maxSpeakers
        recording.directory = settings.recording.directory
        recording.start = settings.recording.start == .onFirstJoin ? .onFirstJoin : .manual
        recording.segment = settings.recording.segment
        recording.audio = settings.recording.audio == .opus ? .opus : .aac
        recording.minimumFree = settings.recording.minimumFree
        recording.startsPerMinute = settings.recording.startsPerMinute
        limits = settings.limits.conference
        layoutsDirectory = settings.layouts.directory
    }
}
