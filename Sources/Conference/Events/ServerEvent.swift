package import FoundationEssentials
package import Recording

/// Something that happened on the server, for programs that follow it: the entries of `EventBus`.
package struct ServerEvent: Sendable {
    /// The position among the events since the server's start, from 1 on.
    package var sequence: Int
    package var time: Date
    /// nil: the event is the server's.
    package var room: String?
    /// Whether outsiders of the room must not see the event: it says who is in a private room
    /// (`RoomSettings.isPrivate`), or what is said in any.
    package var isPrivate: Bool
    package var happening: Happening

    /// What happened, with the data of the event.
    package enum Happening: Hashable, Sendable {
        case roomStarted(Meeting)
        case roomEnded(Meeting, LeaveReason)
        /// The room has come from another server, where it has not ended: its meeting goes on.
        case roomMoved(Meeting)
        case participantJoined(ParticipantInfo)
        /// A change of anything but `speaking`.
        case participantUpdated(ParticipantInfo)
        case participantLeft(ParticipantInfo, LeaveReason)
        case recordingStarted(RecordingInfo)
        case recordingPaused(RecordingInfo)
        case recordingResumed(RecordingInfo)
        /// The file is complete.
        case recordingFinished(RecordingInfo)
        case recordingFailed(RecordingInfo)
        /// A recording that a crash left open was repaired, or was found to be beyond repair.
        case recordingRecovered(RecordingInfo)
        /// `recording.onFinished` has taken the recording.
        case recordingDelivered(RecordingInfo)
        /// A run of it has failed; `RecordingInfo.delivery` says whether others follow.
        case recordingDeliveryFailed(RecordingInfo)
        /// By its age, or for the space of others.
        case recordingRemoved(RecordingInfo, RecordingRetention.Reason)
        case streamStarted(StreamInfo)
        /// The other server takes it.
        case streamLive(StreamInfo)
        /// The connection is lost, and is tried again.
        case streamRetrying(StreamInfo)
        case streamEnded(StreamInfo)
        case streamFailed(StreamInfo)
        /// A source is about to be pulled into the room.
        case inputStarted(InputInfo)
        case inputLive(InputInfo)
        /// The source is lost, and is tried again.
        case inputRetrying(InputInfo)
        case inputFailed(InputInfo)
        case inputEnded(InputInfo)
        /// The server saves work, or does not any more.
        case overloadChanged(Overload)
        /// Everybody is moved to the breakout groups.
        case breakoutOpened(BreakoutInfo)
        /// Groups were made, or something about them has changed.
        case breakoutChanged(BreakoutInfo)
        /// Everybody was called back, and the countdown runs.
        case breakoutEnding(BreakoutInfo)
        /// Everybody is back, and the groups are gone.
        case breakoutClosed
        case speakerChanged(String?)
        /// What everyone sees in one of the room's views.
        case layoutChanged(ShownLayout)
        /// A public message.
        case chat(ChatMessage)
    }

    /// A room as its beginning and its end report it.
    package struct Meeting: Hashable, Sendable {
        package var id: String
        package var createdAt: Date
        package var layout: String
        /// The number of members when the event happened.
        package var participants: Int
    }

    /// How much work the server saves.
    package struct Overload: Hashable, Sendable {
        /// From 0 (none) to 4 (new rooms are refused).
        package var level: Int
        package var refusesRooms: Bool
    }

    /// The kinds of events, by their names on the wire.
    package enum Kind: String, Sendable, CaseIterable {
        case roomStarted = "room.started", roomEnded = "room.ended", roomMoved = "room.moved"
        case participantJoined = "participant.joined", participantUpdated = "participant.updated"
        case participantLeft = "participant.left"
        case recordingStarted = "recording.started", recordingPaused = "recording.paused"
        case recordingResumed = "recording.resumed", recordingFinished = "recording.finished"
        case recordingFailed = "recording.failed", recordingRecovered = "recording.recovered"
        case recordingDelivered = "recording.delivered", recordingDeliveryFailed = "recording.delivery_failed"
        case recordingRemoved = "recording.removed"
        case streamStarted = "stream.started", streamLive = "stream.live", streamRetrying = "stream.retrying"
        case streamEnded = "stream.ended", streamFailed = "stream.failed"
        case inputStarted = "input.started", inputLive = "input.live", inputRetrying = "input.retrying"
        case inputFailed = "input.failed", inputEnded = "input.ended"
        case overloadChanged = "overload.changed"
        case breakoutOpened = "breakout.opened", breakoutChanged = "breakout.changed"
        case breakoutEnding = "breakout.ending", breakoutClosed = "breakout.closed"
        case speakerChanged = "speaker.changed", layoutChanged = "layout.changed", chat

        /// Whether readers get the kind only where they name it: such events are many, or of the call's content.
        package var isOnRequest: Bool { self == .speakerChanged || self == .layoutChanged || self == .chat }

        /// The kinds for readers who name none.
        package static let standard = Set(allCases.filter { !$0.isOnRequest })
    }
}

extension ServerEvent.Happening {
    /// Whether the event is about single people of its room.
    var saysWhoIsThere: Bool {
        switch self {
        case .participantJoined, .participantUpdated, .participantLeft, .speakerChanged, .layoutChanged, .chat,
            .inputStarted, .inputLive, .inputRetrying, .inputFailed, .inputEnded, .breakoutOpened, .breakoutChanged,
            .breakoutEnding:
            true
        default: false
        }
    }

    /// Whether the event is for those only who may read recordings: it has what the delivery's program wrote.
    package var saysWhereRecordingsGo: Bool {
        switch self {
        case .recordingDelivered, .recordingDeliveryFailed, .recordingRemoved: true
        default: false
        }
    }

    package var kind: ServerEvent.Kind {
        switch self {
        case .roomStarted: .roomStarted
        case .roomEnded: .roomEnded
        case .roomMoved: .roomMoved
        case .participantJoined: .participantJoined
        case .participantUpdated: .participantUpdated
        case .participantLeft: .participantLeft
        case .recordingStarted: .recordingStarted
        case .recordingPaused: .recordingPaused
        case .recordingResumed: .recordingResumed
        case .recordingFinished: .recordingFinished
        case .recordingFailed: .recordingFailed
        case .recordingRecovered: .recordingRecovered
        case .recordingDelivered: .recordingDelivered
        case .recordingDeliveryFailed: .recordingDeliveryFailed
        case .recordingRemoved: .recordingRemoved
        case .streamStarted: .streamStarted
        case .streamLive: .streamLive
        case .streamRetrying: .streamRetrying
        case .streamEnded: .streamEnded
        case .streamFailed: .streamFailed
        case .inputStarted: .inputStarted
        case .inputLive: .inputLive
        case .inputRetrying: .inputRetrying
        case .inputFailed: .inputFailed
        case .inputEnded: .inputEnded
        case .overloadChanged: .overloadChanged
        case .breakoutOpened: .breakoutOpened
        case .breakoutChanged: .breakoutChanged
        case .breakoutEnding: .breakoutEnding
        case .breakoutClosed: .breakoutClosed
        case .speakerChanged: .speakerChanged
        case .layoutChanged: .layoutChanged
        case .chat: .chat
        }
    }
}
