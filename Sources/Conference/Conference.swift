import Basics
import Foundation
import Logging

/// A conference server without its doors: rooms, participants, their media, recordings.
public final class Conference: Sendable {
    public let configuration: ConferenceConfiguration

    /// Binds the media ports and reads the layouts. Nothing runs before `start`.
    public init(_ configuration: ConferenceConfiguration, logger: Logger) throws(ConferenceError) {
        self.configuration = configuration
    }

    /// What was really bound.
    public var mediaUDP: [SocketAddress] { [] }
    public var mediaTCP: [SocketAddress] { [] }

    /// Starts the threads and closes what a crash left open of recordings.
    public func start() throws(ConferenceError) {}

    /// No joins, recordings closed, peers told, threads ended; returns at the latest after `limit`.
    public func drain(within limit: Duration) async {}

    public var isDraining: Bool { false }
    /// No new rooms are taken.
    public var isOverloaded: Bool { false }

    // MARK: - Rooms
    public func rooms() -> [RoomInfo] { [] }
    public func room(_ id: String) -> RoomInfo? { nil }
    /// Creates the room, or changes it where it exists. Returns it, and whether it is new.
    @discardableResult
    public func createRoom(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> (room: RoomInfo, isNew: Bool) {
        throw .overloaded
    }
    @discardableResult
    public func updateRoom(_ id: String, _ change: RoomSettingsChange) throws(ConferenceError) -> RoomInfo { throw .overloaded }
    /// Ends the call for everyone.
    public func endRoom(_ id: String) throws(ConferenceError) {}
    /// The current composite as PNG.
    public func snapshot(_ room: String) async throws(ConferenceError) -> [UInt8] { throw .overloaded }

    // MARK: - Participants
    public func join(
        _ request: JoinRequest, events: @escaping @Sendable (ParticipantEvent) -> Void
    ) throws(ConferenceError) -> Participant { throw .overloaded }
    /// Takes a seat back after signalling was lost.
    public func resume(
        id: String, secret: String, events: @escaping @Sendable (ParticipantEvent) -> Void
    ) throws(ConferenceError) -> Participant { throw .overloaded }
    public func participant(_ id: String, in room: String) throws(ConferenceError) -> ParticipantInfo { throw .overloaded }
    @discardableResult
    public func updateParticipant(
        _ id: String, in room: String, _ change: ParticipantChange
    ) throws(ConferenceError) -> ParticipantInfo { throw .overloaded }
    public func removeParticipant(_ id: String, in room: String) throws(ConferenceError) {}
    public func statistics(_ id: String, in room: String) async throws(ConferenceError) -> ParticipantStatistics { throw .overloaded }

    // MARK: - Recordings
    @discardableResult
    public func startRecording(_ room: String) throws(ConferenceError) -> RecordingInfo { throw .overloaded }
    @discardableResult
    public func pauseRecording(_ id: String) throws(ConferenceError) -> RecordingInfo { throw .overloaded }
    @discardableResult
    public func resumeRecording(_ id: String) throws(ConferenceError) -> RecordingInfo { throw .overloaded }
    /// Returns when the file is complete.
    @discardableResult
    public func stopRecording(_ id: String) async throws(ConferenceError) -> RecordingInfo { throw .overloaded }
    /// Running ones first, then those of the directory, newest first.
    public func recordings() -> [RecordingInfo] { [] }
    public func recording(_ id: String) -> RecordingInfo? { nil }

    // MARK: - Layouts
    public func layouts() -> [LayoutInfo] { [] }
    /// Adds or replaces a layout at run time, after the same checks as files get.
    public func putLayout(_ name: String, json: [UInt8]) throws(ConferenceError) {}
    public func deleteLayout(_ name: String) throws(ConferenceError) {}

    // MARK: - Figures
    public func metrics() -> [MetricSample] { [] }
}
