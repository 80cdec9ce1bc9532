import Basics
package import Logging
import Mixing
import Recording
import RoomMedia
import Threads

/// A conference server without its endpoints: rooms, participants, their media, recordings.
///
/// Each service here is what endpoints ask for one kind of thing. `RoomService` and `SeatService` below them change
/// rooms: each room has a lock of its own, which no thread holds while it waits. All rooms share only the registry, whose
/// lock is held for a look-up or a count. `MediaThreads` has the media's threads; the control thread handles the events
/// of media and time, and calls the endpoints.
package final class Conference: Sendable {
    package let rooms: RoomDirectory
    package let guestLinks: GuestLinkService
    package let people: PeopleService
    package let breakouts: BreakoutService
    package let recordings: RecordingService
    package let streams: StreamService
    package let inputs: InputService
    package let layouts: LayoutService
    package let avatars: AvatarService
    /// Rooms that come from other servers and go to them.
    package let moves: MoveService
    /// What happens on the server, for programs that follow it.
    package let events = EventBus()
    package let configuration: ConferenceConfiguration

    let media: MediaThreads
    let roomService: RoomService
    let hls: HLSControl
    let seats: SeatService
    let expiry: SeatExpiry
    let peers: PeerService
    let chat: ChatService
    let moderation: ModerationService
    let waiting: WaitingService
    let capacity = Guarded(CapacityMeter())
    let control = ControlThread()
    let statistics = ServerStatistics()
    /// The rooms that have series of their own in the metrics.
    let busiestRooms: Guarded<BusiestRooms>
    let disks: DiskWatch
    let logger: Logger

    /// The pictures of chats.
    package var pictures: PictureStore { chat.pictures }
    var registry: RoomRegistry { roomService.registry }

    /// Binds the media ports and reads the layouts. No thread runs before `start`.
    package convenience init(_ configuration: ConferenceConfiguration, logger: Logger) throws(ConferenceError) {
        try self.init(configuration, logger: logger, disk: .system, diskTimeout: .seconds(5))
    }

    /// - Parameters:
    ///   - disk: the recordings' disk; tests have one that can hang.
    ///   - diskTimeout: how long a request waits for the disk of its folder.
    init(
        _ configuration: ConferenceConfiguration, logger: Logger, disk: RecordingDisk, diskTimeout: Duration
    ) throws(ConferenceError) {
        self.configuration = configuration
        self.logger = logger
        busiestRooms = Guarded(BusiestRooms(limit: configuration.roomsInMetrics))
        let mediaEvents = LoopEventForwarder(control)
        media = try MediaThreads(configuration, events: mediaEvents.loopEvents) { [statistics] text in
            statistics.encodeFailed(text, logger)
        }
        let library = try LayoutService.library(configuration, logger: logger)
        let log = RoomLog(logger)
        let recorded = RecordingControl(
            configuration.recording, disk: disk, answerTimeout: diskTimeout, logger: logger, events: events,
            log: log)
        hls = HLSControl(logger)
        roomService = RoomService(
            configuration, media: media, layouts: library, control: control, statistics: statistics,
            recordings: recorded, hls: hls, events: events, log: log,
            file: configuration.roomsFile.map { RoomsFile($0, logger: logger, limit: diskTimeout) })
        rooms = RoomDirectory(roomService, snapshots: Snapshots(pool: media.pool, meter: media.meters.snapshot))
        seats = SeatService(configuration, rooms: roomService, media: media, statistics: statistics, log: log)
        expiry = SeatExpiry(configuration, rooms: roomService, seats: seats, media: media, log: log)
        peers = try PeerService(configuration, registry: roomService.registry, loops: media.peers)
        waiting = WaitingService(rooms: roomService)
        people = PeopleService(rooms: roomService, seats: seats, peers: peers, waits: waiting)
        guestLinks = GuestLinkService(rooms: roomService, seats: seats)
        moderation = ModerationService(rooms: roomService, seats: seats, waiting: waiting)
        breakouts = BreakoutService(configuration, rooms: roomService, seats: seats, overload: media.overload)
        inputs = InputService(configuration.inputs, rooms: roomService, seats: seats, control: control, log: log)
        avatars = AvatarService(
            AvatarStore(directory: configuration.avatarsDirectory, logger: logger, limit: diskTimeout),
            rooms: roomService)
        layouts = LayoutService(
            library, rooms: roomService, settings: configuration.rooms.settings, logger: logger, limit: diskTimeout)
        recordings = RecordingService(
            configuration, control: recorded, rooms: roomService, thread: control, overload: media.overload,
            statistics: statistics, logger: logger, log: log)
        streams = StreamService(configuration, rooms: roomService, thread: control, statistics: statistics, log: log)
        moves = MoveService(
            rooms: roomService, seats: seats, recordings: recordings, streams: streams, inputs: inputs,
            breakouts: breakouts, log: log)
        chat = ChatService(
            configuration, rooms: roomService, peers: media.peers, control: control,
            pictures: PictureStore(configuration.pictures, logger: logger, limit: diskTimeout))
        disks = DiskWatch(
            [
                ("layouts", layouts.lane), ("avatars", avatars.files.lane), ("pictures", chat.pictures.lane),
                ("recordings", recorded.lane), ("thumbnails", recordings.thumbnails),
            ] + (roomService.file.map { [("rooms", $0.lane)] } ?? []), logger: logger)
        mediaEvents.set(roomService, seats, chat)
        registry.onDisplaced { [weak self] displaced in
            self?.control.post { [weak self] in self?.end(displaced) }
        }
    }
}
