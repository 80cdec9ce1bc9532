import Basics
import RoomMedia
import Threads

/// Carries the loops' events to the rooms, on the control thread. Created before the rooms, since the loops need it.
final class LoopEventForwarder: Sendable {
    private struct Receivers: Sendable {
        weak var rooms: RoomService?
        weak var seats: SeatService?
        weak var chat: ChatService?
    }

    private let control: ControlThread
    private let receivers = Guarded(Receivers())

    init(_ control: ControlThread) { self.control = control }

    /// Sets the receivers. Events before this are dropped.
    func set(_ rooms: RoomService, _ seats: SeatService, _ chat: ChatService) {
        receivers.withLock { receivers in
            receivers.rooms = rooms
            receivers.seats = seats
            receivers.chat = chat
        }
    }

    private var rooms: RoomService? { receivers.withLock { $0.rooms } }
    private var seats: SeatService? { receivers.withLock { $0.seats } }
    private var chat: ChatService? { receivers.withLock { $0.chat } }

    var loopEvents: PeerLoopEvents {
        PeerLoopEvents(
            media: { [self] id, isConnected, since in
                control.post { [self] in seats?.mediaChanged(id, isConnected, since: since) }
            },
            ended: { [self] id, end, why in
                control.post { [self] in seats?.mediaEnded(id, LeaveReason(end), why) }
            },
            link: { [self] id, link in
                control.post(.link(id)) { [self] in rooms?.notify(id, .link(link)) }
            },
            missing: { [self] id, kinds in control.post { [self] in rooms?.missing(kinds, of: id) } },
            chat: { [self] room, message in
                // Looks at the bytes on the loop, and posts what is chat to the control thread.
                chat?.received(message, in: room)
            })
    }
}
