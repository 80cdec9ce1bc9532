import Basics
import Logging
import Mixing
import RoomMedia
import Threads

/// The start, the end, and what is done again and again in between.
extension Conference {
    /// Starts the threads. Recordings that a crash left open are repaired in the background.
    package func start() throws(ConferenceError) {
        SystemMemory.mapPictures()
        roomService.readFile(at: MonotonicClock.now())
        media.start()
        control.start { [weak self] now in self?.runHousekeeping(at: now) }
        recordings.control.open()
        chat.pictures.open()
    }

    /// Refuses joins, closes recordings and peers, and ends the threads. Waits for the recordings no longer than
    /// `limit`.
    package func drain(within limit: Duration) async {
        guard registry.drain() else { return }
        recordings.control.stopRepairs()
        let running = registry.rooms.flatMap { $0.read(\.outputs.running) ?? [] }
        // A disk that hangs must not keep the server from ending.
        await atMost(limit) { [self] in
            await withTaskGroup(of: Void.self) { stops in
                stops.addTask { [self] in await recordings.control.deliveries.drain() }
                stops.addTask { [self] in await streams.endAll() }
                for recording in running {
                    stops.addTask { [self] in _ = try? await recordings.stop(recording.id) }
                }
            }
        }
        for room in registry.rooms {
            let isMoving = room.read { $0.room.movingUntil != nil } ?? false
            roomService.end(room.id, reason: isMoving ? .moved : .draining)
        }
        events.close()
        // The endpoints get their last events before the control thread ends; the peers' last datagrams leave in the
        // loops' last turn.
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            control.post { done.resume() }
        }
        control.stop()
        await roomService.closeFile()
        media.stop()
    }

    /// Runs every `ControlThread.period`, on the control thread.
    func runHousekeeping(at now: Instant) {
        expiry.expire(at: now)
        if statistics.startIfDue(.waiting, every: .seconds(1), at: now) { waiting.expire(at: now) }
        if statistics.startReleaseIfDue(at: now) { SystemMemory.release() }
        if statistics.startIfDue(.snapshots, every: .seconds(1), at: now) { rooms.snapshots.forgetOld(at: now) }
        if statistics.startIfDue(.pictures, every: .seconds(10), at: now) { chat.expirePictures(at: now) }
        if statistics.startIfDue(.layouts, every: .seconds(1), at: now) { layouts.poll() }
        if statistics.startIfDue(.disks, every: .seconds(1), at: now) { disks.look(at: now) }
        if statistics.startIfDue(.text, every: .seconds(30), at: now) { TextRenderer.shared.dropUnused() }
        moves.watch(at: now)
        roomService.writeFile(at: now)
        if statistics.startIfDue(.capacity, every: .seconds(1), at: now) {
            capacity.withLock { $0.take(media.work, at: now) }
        }
        recordings.watch(at: now)
        streams.watch(at: now)
        if configuration.savesWorkWhenOverloaded, statistics.startIfDue(.overload, every: .seconds(1), at: now),
            let level = media.overload.evaluate(at: now)
        {
            logger.warning("overload: \(level)")
            let overload = ServerEvent.Overload(level: level.rawValue, refusesRooms: level == .noNewRooms)
            events.publish(.overloadChanged(overload), room: nil)
            roomService.follow(level)
            let ceiling = level >= .noTopRung ? 1 : 0
            media.peers.everywhere { host, _ in host.setCeiling(ceiling) }
        }
    }

    /// Ends what has lost its place to a newcomer, on the control thread.
    func end(_ displaced: Capacity.Displaced) {
        switch displaced {
        case .wait(let id, let room): waiting.displace(id, room)
        case .seat, .halfOpen, .room: expiry.displace(displaced)
        }
    }
}
