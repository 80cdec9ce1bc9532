import Basics
import FoundationEssentials
import Inputs
import RoomMedia
import Synchronization
import Threads

/// An input of a room, with the participant that shows it.
final class RoomInput: Sendable {
    let id: String
    let room: String
    let participant: String
    let name: String
    let pulled: PulledInput
    /// As it was asked for, with the URL's credentials.
    let wish: InputRequest
    /// Set when it was taken away.
    private let endedAt = Guarded<Date?>(nil)

    init(id: String, room: String, participant: String, name: String, pulled: PulledInput, wish: InputRequest) {
        (self.id, self.room, self.participant, self.name, self.pulled) = (id, room, participant, name, pulled)
        self.wish = wish
    }

    var info: InputInfo {
        let status = pulled.status
        var info = InputInfo(
            id: id, room: room, participant: participant, name: name, url: pulled.request.address.redacted,
            loops: pulled.request.loops, state: InputInfo.State(status.phase), since: status.since,
            attempts: status.attempts, reason: status.reason)
        if let ended = endedAt.withLock({ $0 }), !status.phase.isOver {
            (info.state, info.since, info.attempts, info.reason) = (.ended, ended, 0, nil)
        }
        return info
    }

    var isOver: Bool { pulled.status.phase.isOver || endedAt.withLock { $0 } != nil }

    /// Ends the input without waiting for its threads. Returns whether it was still running.
    func end() -> Bool {
        pulled.stop()
        return endedAt.withLock { ended in
            if ended != nil || pulled.status.phase.isOver { return false }
            ended = Date()
            return true
        }
    }
}

extension InputInfo.State {
    fileprivate init(_ phase: InputStatus.Phase) {
        self =
            switch phase {
            case .connecting: .connecting
            case .live: .live
            case .retrying: .retrying
            case .failed: .failed
            case .ended: .ended
            }
    }
}

extension InputIntake: InputSink {}
