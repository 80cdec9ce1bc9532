import FoundationEssentials
import Recording
import RoomMedia
import Streaming

extension ServerEvent {
    /// One event of each kind, for the description of the API.
    package static let examples: [ServerEvent] = {
        let start = Date(timeIntervalSince1970: 1_767_000_000)
        let meeting = ServerEvent.Meeting(id: "weekly", createdAt: start, layout: "grid", participants: 0)
        var anna = ParticipantInfo(
            id: "p7xk2m", name: "Anna", role: .moderator, audio: true, video: true, hand: false, speaking: false,
            presenting: false, audioMuted: false, videoMuted: false, pinned: false, volume: 1)
        var recording = RecordingInfo(
            id: "weekly-20251229-092000", room: "weekly", file: "weekly-20251229-092000.mp4", state: .recording,
            startedAt: start)
        var happenings: [ServerEvent.Happening] = [
            .roomStarted(meeting), .participantJoined(anna), .recordingStarted(recording), .speakerChanged(anna.id),
        ]
        anna.presenting = true
        happenings += [.participantUpdated(anna), .layoutChanged(ShownLayout(name: "presentation"))]
        happenings.append(
            .chat(ChatMessage(id: "m4", from: anna.id, fromName: anna.name, text: "Slides: page 3", at: start)))
        recording.state = .paused
        happenings.append(.recordingPaused(recording))
        recording.state = .recording
        happenings += [
            .recordingResumed(recording), .overloadChanged(.init(level: 1, refusesRooms: false)),
            .participantLeft(anna, .left), .roomMoved(meeting), .roomEnded(meeting, .roomEnded),
        ]
        (recording.state, recording.duration, recording.bytes) = (.finished, .seconds(1834), 251_658_240)
        happenings += [.recordingFinished(recording), .recordingRecovered(recording)]
        happenings += deliveries(of: recording) + [.recordingRemoved(recording, .age)]
        (recording.state, recording.failure) = (.failed, "The disk is full.")
        happenings.append(.recordingFailed(recording))
        happenings += breakout(of: anna)
        happenings += streams(from: start)
        happenings += inputs(since: start)
        return happenings.enumerated().map { index, happening in
            let isServers = happening.kind == .overloadChanged
            return ServerEvent(
                sequence: index + 1, time: start + TimeInterval(index) + 0.25, room: isServers ? nil : "weekly",
                isPrivate: false, happening: happening)
        }
    }()

    private static func deliveries(of recording: RecordingInfo) -> [ServerEvent.Happening] {
        var (recording, delivery) = (recording, RecordingDelivery())
        delivery.begin(process: 0)
        _ = delivery.fail("rclone ended with status 1: timeout", at: recording.startedAt, retryFor: .seconds(3600))
        recording.delivery = delivery
        let failed = ServerEvent.Happening.recordingDeliveryFailed(recording)
        delivery.begin(process: 0)
        delivery.succeed(location: "s3:meetings/weekly/\(recording.id).mp4")
        recording.delivery = delivery
        return [.recordingDelivered(recording), failed]
    }

    private static func breakout(of person: ParticipantInfo) -> [ServerEvent.Happening] {
        var groups = BreakoutInfo(
            phase: .planned,
            groups: [
                .init(number: 1, name: "Group 1", participants: [person.id]),
                .init(number: 2, name: "Group 2"),
            ])
        var happenings: [ServerEvent.Happening] = [.breakoutChanged(groups)]
        (groups.phase, groups.endsIn) = (.open, .seconds(600))
        happenings.append(.breakoutOpened(groups))
        (groups.phase, groups.endsIn) = (.ending, .seconds(60))
        return happenings + [.breakoutEnding(groups), .breakoutClosed]
    }

    private static func streams(from start: Date) -> [ServerEvent.Happening] {
        var stream = StreamInfo(
            id: "q2xk7hfa93mp", room: "weekly", url: "rtmp://live.example/app/…", view: "main",
            keyframeInterval: .seconds(2), startedAt: start)
        var happenings: [ServerEvent.Happening] = [.streamStarted(stream)]
        stream.state = .live
        happenings.append(.streamLive(stream))
        (stream.bytes, stream.dropped) = (11_534_336, 12)
        stream.state = .retrying(since: start + 60, attempts: 1, reason: "Broken pipe")
        happenings.append(.streamRetrying(stream))
        stream.state = .failed(reason: "Connection refused")
        happenings.append(.streamFailed(stream))
        stream.state = .ended
        return happenings + [.streamEnded(stream)]
    }

    private static func inputs(since start: Date) -> [ServerEvent.Happening] {
        var input = InputInfo(
            id: "q8v3kd", room: "weekly", participant: "p2m9xa", name: "Stage camera",
            url: "srt://camera.example:9000", loops: false, state: .connecting, since: start)
        var happenings: [ServerEvent.Happening] = [.inputStarted(input)]
        input.state = .live
        happenings.append(.inputLive(input))
        (input.state, input.attempts, input.reason) = (.retrying, 1, "nothing came in time")
        happenings.append(.inputRetrying(input))
        (input.state, input.attempts) = (.failed, 0)
        happenings.append(.inputFailed(input))
        (input.state, input.reason) = (.ended, nil)
        happenings.append(.inputEnded(input))
        return happenings
    }
}
