import Basics
import Codecs
import FoundationEssentials
import Logging
import RoomMedia
package import Streaming
import Threads

/// Starts, ends and lists the streams of rooms to other servers.
package final class StreamService: Sendable {
    private let configuration: ConferenceConfiguration
    private let rooms: RoomService
    private let thread: ControlThread
    private let statistics: ServerStatistics
    private let log: RoomLog
    private let state = Guarded(State())

    private struct State {
        /// Those that are not over, by id.
        var alive: [String: RoomStream] = [:]
        /// Of those that are over.
        var bytes = 0
        var dropped = 0
    }

    init(
        _ configuration: ConferenceConfiguration, rooms: RoomService, thread: ControlThread,
        statistics: ServerStatistics, log: RoomLog
    ) {
        self.configuration = configuration
        self.rooms = rooms
        self.thread = thread
        self.statistics = statistics
        self.log = log
    }

    private var settings: ConferenceConfiguration.Streams { configuration.streams }
    var alive: [RoomStream] { state.withLock { Array($0.alive.values) } }

    // MARK: - Starting

    /// Starts a stream; its connection is made in the background.
    @discardableResult
    package func start(_ room: String, _ request: StreamRequest) throws(ConferenceError) -> StreamInfo {
        let target = try target(request)
        let interval = request.keyframeInterval ?? settings.keyframeInterval
        guard StreamRequest.keyframeIntervals.contains(interval) else {
            throw .badRequest("keyframeInterval: 0.5 to 10 seconds")
        }
        let info = StreamInfo(
            id: RandomToken.make(12), room: room, url: target.url.redacted, view: request.view ?? ViewSettings.main,
            keyframeInterval: interval, startedAt: Date())
        let needs = TapNeeds(
            keyframeInterval: interval, framesPerSecond: Double(settings.minimumFrameRate))
        let audio = try audio(of: room)
        return try rooms.change(room) { slot throws(ConferenceError) in
            if rooms.registry.isDraining { throw .draining }
            try slot.room.requireView(info.view)
            guard slot.outputs.streams.running.count < settings.maxPerRoom else {
                throw .conflict(
                    "Room “\(room)” has \(slot.outputs.streams.running.count) streams, which is the most (streams.maxPerRoom): end one first."
                )
            }
            guard !slot.outputs.streams.running.contains(where: { $0.url == target.url }) else {
                throw .conflict("Room “\(room)” is being streamed to this URL already.")
            }
            let feed = slot.outputs.streams.audio ?? audio
            let stream = RoomStream(info, request, to: target, needs: needs, audio: feed) { [weak self] state in
                self?.changed(info.id, state)
            }
            slot.outputs.streams.add(stream, audio: feed)
            // The view is in use before the stream takes it.
            _ = slot.engine.apply(slot.scene(layout: rooms.layoutOrGrid))
            state.withLock { $0.alive[info.id] = stream }
            rooms.events.publish(.streamStarted(info), room: room)
            log.stream(info, "stream started to \(info.url)")
            guard stream.begin(with: slot.engine) else {
                forget(stream)
                throw .internalFailure("The system has no thread for the stream.")
            }
            slot.room.isSentOn = true
            return info
        }
    }

    private func target(_ request: StreamRequest) throws(ConferenceError) -> StreamTarget {
        guard let url = MediaURL(request.url) else {
            throw .badRequest("url: such as rtmp://HOST/APP/KEY, rtmps://HOST/APP/KEY or srt://HOST:PORT?streamid=…")
        }
        let target = StreamTarget(
            url: url, policy: settings.policy, retryFor: settings.retryFor, authorities: settings.authorities)
        do throws(StreamingError) {
            try target.check()
        } catch {
            throw .badRequest("url: \(error)")
        }
        return target
    }

    /// The feed of the room, or one for it, made without the room's lock.
    private func audio(of room: String) throws(ConferenceError) -> AACFeed {
        guard let hosted = rooms.registry[room] else { throw .roomNotFound(room) }
        if let known = hosted.read({ $0.outputs.streams.audio }) ?? nil { return known }
        do throws(CodecError) {
            return try AACFeed()
        } catch {
            throw .internalFailure("\(error)")
        }
    }

    // MARK: - Changes, on the streams' threads

    private func changed(_ id: String, _ new: StreamState) {
        guard let stream = state.withLock({ $0.alive[id] }) else { return }
        let info = stream.info(in: new)
        if stream.hasStateChanged(new) { tell(info) }
        guard new.isOver else { return }
        forget(stream)
        stream.detach()
        thread.post { [weak self] in
            _ = try? self?.rooms.change(stream.room) { slot throws(ConferenceError) in Self.end(stream, &slot) }
        }
    }

    private func tell(_ info: StreamInfo) {
        let happening: ServerEvent.Happening
        switch info.state {
        case .connecting: return
        case .live:
            happening = .streamLive(info)
            log.stream(info, "stream live")
        case .retrying(_, _, let reason):
            happening = .streamRetrying(info)
            log.stream(info, "stream lost, tried again: \(reason)", .notice)
        case .failed(let reason):
            happening = .streamFailed(info)
            log.stream(info, "stream failed: \(reason)", .error)
        case .ended:
            happening = .streamEnded(info)
            log.stream(info, "stream ended")
        }
        rooms.events.publish(happening, room: info.room)
    }

    /// Keeps only the figures of a stream that is over.
    private func forget(_ stream: RoomStream) {
        let info = stream.info
        state.withLock { state in
            guard state.alive.removeValue(forKey: stream.id) != nil else { return }
            state.bytes += info.bytes
            state.dropped += info.dropped
        }
    }

    private static func end(_ stream: RoomStream, _ slot: inout RoomRecord) {
        slot.outputs.streams.end(stream.id)
        slot.room.isSentOn = !slot.outputs.streams.running.isEmpty
    }

    // MARK: - Ending

    /// Ends a stream. Returns its last state when its connection is closed, after two seconds at the most.
    @discardableResult
    package func end(_ id: String, in room: String) async throws(ConferenceError) -> StreamInfo {
        let stream = try rooms.change(room) { slot throws(ConferenceError) in
            guard let stream = slot.outputs.streams.stream(id) else { throw .streamNotFound(id) }
            Self.end(stream, &slot)
            return stream
        }
        await stream.end()
        return stream.info
    }

    /// Ends all streams. Returns when their connections are closed, after two seconds at the most.
    func endAll() async {
        await withTaskGroup(of: Void.self) { ends in
            for stream in alive { ends.addTask { await stream.end() } }
        }
    }

    /// Ends the streams of rooms in which nobody has been for `rooms.emptyTimeout`. Called several times a second, on
    /// the control thread.
    func watch(at now: Instant) {
        guard statistics.startIfDue(.streams, every: .seconds(1), at: now) else { return }
        let timeout = configuration.rooms.emptyTimeout
        for stream in alive where now - stream.startedAt >= timeout {
            let isDeserted = rooms.registry[stream.room]?.read { slot in
                !slot.isUnused && slot.room.isAbandoned(after: timeout, at: now)
            }
            if isDeserted == true { stream.finish() }
        }
    }

    // MARK: - Lists

    /// The streams of a room: those that run, and the latest that are over; the oldest first.
    package func list(_ room: String) throws(ConferenceError) -> [StreamInfo] {
        guard let infos = rooms.registry[room]?.read(\.outputs.streams.infos) else { throw .roomNotFound(room) }
        return infos
    }

    package func stream(_ id: String, in room: String) throws(ConferenceError) -> StreamInfo {
        guard let hosted = rooms.registry[room] else { throw .roomNotFound(room) }
        guard let stream = hosted.read({ $0.outputs.streams.stream(id) }) ?? nil else { throw .streamNotFound(id) }
        return stream.info
    }

    // MARK: - HLS

    /// The stream of a room for players of HLS; nil where the room has none: `RoomSettings.hls` is off, or nobody has
    /// been in the room since it was turned on.
    ///
    /// - Parameters:
    ///   - request: who asks, as for a seat; the rules of joins are those of watching.
    ///   - isNew: whether the player begins. A locked room refuses new ones only.
    package func hls(_ request: AdmittedJoin, isNew: Bool) throws(ConferenceError) -> HLSStream? {
        // Who watches already does not begin to ask because a neighbour was removed.
        let request = isNew ? try rooms.registry.checkRemovals(request, at: MonotonicClock.now()) : request
        let found = try rooms.registry[request.room]?.read { slot throws(ConferenceError) -> HLSStream? in
            try slot.room.requireWatching(request, isNew: isNew)
            return slot.outputs.hls?.stream
        }
        guard let found else { throw .roomNotFound(request.room) }
        return found
    }

    // MARK: - Metrics

    var samples: [MetricSample] {
        let (alive, bytes, dropped) = state.withLock { (Array($0.alive.values), $0.bytes, $0.dropped) }
        let infos = alive.map(\.info)
        let states = ["connecting", "live", "retrying"].map { name in
            MetricSample(
                "tessera_streams", "Streams to other servers, by state.", .gauge,
                Double(infos.count { $0.state.name == name }), labels: ["state": name])
        }
        return states + [
            MetricSample(
                "tessera_stream_bytes_total", "Bytes of media that other servers took as streams.", .counter,
                Double(infos.reduce(bytes) { $0 + $1.bytes })),
            MetricSample(
                "tessera_stream_frames_dropped_total", "Frames of streams that a slow server or network lost.",
                .counter, Double(infos.reduce(dropped) { $0 + $1.dropped })),
        ]
    }
}
