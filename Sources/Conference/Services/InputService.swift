import Basics
import Inputs
import RoomMedia
import Streaming
import Threads

/// Pulls sources into rooms, each as a participant of its own.
package final class InputService: Sendable {
    private let configuration: ConferenceConfiguration.Inputs
    private let opener: InputOpener
    private let rooms: RoomService
    private let seats: SeatService
    private let control: ControlThread
    private let log: RoomLog

    init(
        _ configuration: ConferenceConfiguration.Inputs, rooms: RoomService, seats: SeatService,
        control: ControlThread, log: RoomLog
    ) {
        self.configuration = configuration
        self.rooms = rooms
        self.seats = seats
        self.control = control
        self.log = log
        opener = InputOpener(
            policy: InputPolicy(
                schemes: Set(configuration.schemes.map(\.rawValue)), hosts: configuration.hosts,
                directory: configuration.directory), maxPixels: configuration.maxPixels)
    }

    /// Adds a participant that shows the source, and begins to open it.
    @discardableResult
    package func add(_ wish: InputRequest, to room: String) throws(ConferenceError) -> InputInfo {
        let address = try checked(wish.url)
        guard let name = Names.shown(wish.name) else {
            throw .badRequest("name: 1 to \(Names.allowedLength.upperBound) characters")
        }
        let place = try rooms.registry.reserveSeat(RandomToken.make(12), for: .administrator)
        do throws(ConferenceError) {
            let input = try rooms.change(room) { slot throws(ConferenceError) in
                try enter(address, name, wish, place, &slot)
            }
            input.pulled.start()
            log.input(input.info)
            return input.info
        } catch {
            rooms.registry.releaseSeat(place)
            throw error
        }
    }

    private func checked(_ url: String) throws(ConferenceError) -> InputAddress {
        do throws(StreamingError) {
            let address = try InputAddress(url)
            try opener.policy.check(address)
            return address
        } catch {
            throw .badRequest(error.description)
        }
    }

    /// Called with the room's lock held.
    private func enter(
        _ address: InputAddress, _ name: String, _ wish: InputRequest, _ place: Capacity.SeatPlace,
        _ slot: inout RoomRecord
    ) throws(ConferenceError) -> RoomInput {
        guard slot.outputs.inputs.count(where: { !$0.isOver }) < configuration.maxPerRoom else {
            throw .conflict(
                "Room “\(slot.room.id)” has \(configuration.maxPerRoom) inputs, which is all that it may (inputs.maxPerRoom): delete one first."
            )
        }
        let (room, id, participant) = (slot.room.id, RandomToken.make(12), place.id)
        let request = AdmittedJoin(JoinRequest(room: room, name: name, kind: .input), roleIsProven: true)
        _ = try slot.room.join(request, id: participant, secret: RandomToken.make(32), at: MonotonicClock.now())
        // What the source has is known once it is open.
        try slot.room.setState(participant, audio: false, video: false, hand: nil)
        let sink = Confined<any InputSink>(slot.engine.addInput(participant))
        let pulled = PulledInput(
            PulledInput.Request(address: address, loops: wish.loops, retryFor: configuration.retryFor), opener: opener,
            sink: sink
        ) { [weak self] status in
            self?.control.post { [weak self] in self?.changed(id, in: room, status) }
        }
        let input = RoomInput(id: id, room: room, participant: participant, name: name, pulled: pulled, wish: wish)
        slot.outputs.inputs.append(input)
        rooms.registry.add(
            RegisteredSeat(room: room, client: .administrator, place: place, life: SeatLiveness()), participant,
            isUsed: true)
        rooms.tell([.inputStarted(input.info)], of: slot.room)
        return input
    }

    package func list(_ room: String) throws(ConferenceError) -> [InputInfo] {
        guard let inputs = rooms.registry[room]?.read({ $0.outputs.inputs.map(\.info) }) else {
            throw .roomNotFound(room)
        }
        return inputs
    }

    package func input(_ id: String, in room: String) throws(ConferenceError) -> InputInfo {
        guard let info = try list(room).first(where: { $0.id == id }) else { throw .inputNotFound(id) }
        return info
    }

    /// Ends an input, and forgets it.
    package func remove(_ id: String, from room: String) throws(ConferenceError) {
        let input = try rooms.change(room) { slot throws(ConferenceError) in
            guard let input = slot.outputs.inputs.first(where: { $0.id == id }) else { throw .inputNotFound(id) }
            rooms.tell(slot.endInputs { $0 == input.participant }, of: slot.room)
            slot.outputs.inputs.removeAll { $0.id == id }
            return input
        }
        seats.leave(input.participant, .removed)
        log.input(input.info)
    }

    /// Takes over a new state of an input, on the control thread.
    private func changed(_ id: String, in room: String, _ status: InputStatus) {
        let found: RoomInput?? = try? rooms.change(room) { slot throws(ConferenceError) in
            guard let input = slot.outputs.inputs.first(where: { $0.id == id }),
                slot.room.member(input.participant) != nil
            else { return nil }
            slot.room.media(input.participant, isConnected: status.phase == .live, at: MonotonicClock.now())
            try slot.room.setState(
                input.participant, audio: status.hasAudio, video: status.hasVideo, hand: nil)
            var info = input.info
            info.take(status)
            rooms.tell([ServerEvent.Happening(info)], of: slot.room)
            return input
        }
        guard let input = found ?? nil else { return }
        var info = input.info
        info.take(status)
        log.input(info)
        if status.phase.isOver { seats.leave(input.participant, status.phase == .failed ? .failed : .left) }
    }

    /// The inputs of all rooms, for the metrics.
    var all: [RoomInput] { rooms.registry.rooms.flatMap { $0.read(\.outputs.inputs) ?? [] } }
}

extension InputInfo {
    /// The state that is being told, which may not be the latest any more.
    fileprivate mutating func take(_ status: InputStatus) {
        state = State(rawValue: status.phase.rawValue) ?? state
        (since, attempts, reason) = (status.since, status.attempts, status.reason)
    }
}

extension ServerEvent.Happening {
    fileprivate init(_ info: InputInfo) {
        self =
            switch info.state {
            case .connecting: .inputStarted(info)
            case .live: .inputLive(info)
            case .retrying: .inputRetrying(info)
            case .failed: .inputFailed(info)
            case .ended: .inputEnded(info)
            }
    }
}
