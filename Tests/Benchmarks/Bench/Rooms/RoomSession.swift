import Basics
import Call
import Codecs
import Conference
import Foundation
import Logging
import Peer
import RoomMedia
import Threads

/// One conference with its peers on loopback, all in this process: the names of the threads distinguish the server's
/// from the clients'.
final class RoomSession {
    private static let room = "bench"
    /// Slightly different from the room's rate, as with cameras, so that over a run every phase between arrival and
    /// tick occurs.
    private static let cameraRate = 29.97

    let plan: RoomPlan
    private let conference: Conference
    private var fleets: [Fleet] = []
    private var seats: [Participant] = []
    /// The tiles that each peer was told of last.
    private let tiles = Guarded<[Int: TilesInfo]>([:])
    private let directory: String
    /// The time from each join to the first complete keyframe at the client, in milliseconds, in the order of the
    /// joins.
    private(set) var firstPictures: [Double] = []
    /// Resident memory in MB before the room and with it, including the clients.
    private(set) var memory: (before: Double, with: Double) = (0, 0)

    /// The measurements of one window.
    struct Reading: Sendable {
        /// Per second of call.
        var times = StageTimes()
        /// Ticks done per second; fewer than configured where the machine is too busy.
        var decodes = 0.0
        var composes = 0.0
        var encodes = 0.0
        var dropped = 0.0
        /// How long audio waits for late packets at the median peer, in milliseconds.
        var audioDelay = 0.0
        /// The cumulative counts up to each bound in seconds, by stage of the pipeline.
        var delays: [String: [(bound: Double, count: Double)]] = [:]
    }

    /// - Parameter workers: the number of threads of the pool; nil for the server's default.
    init(_ plan: RoomPlan, workers: Int?) throws {
        self.plan = plan
        directory = NSTemporaryDirectory() + "tessera-bench-\(ProcessInfo.processInfo.processIdentifier)"
        var settings = ConferenceConfiguration()
        settings.media.udp = [SocketAddress(.v4(0x7F00_0001), port: 0)]
        settings.media.tcp = []
        settings.rooms.settings.width = RoomPlan.width
        settings.rooms.settings.height = RoomPlan.height
        settings.rooms.settings.framesPerSecond = RoomPlan.framesPerSecond
        settings.video.renditions = [.init(height: RoomPlan.height, bitRate: RoomPlan.bitRate)]
        settings.savesWorkWhenOverloaded = false
        settings.workers = workers
        settings.recording.directory = directory
        settings.layoutsDirectory = directory
        memory.before = ProcessStatistics.own.memory
        conference = try Conference(settings, logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
        try conference.start()
    }

    // MARK: - Joining and leaving

    /// Lets all peers join, one after the other, and waits for each one's first picture.
    func open() async throws {
        for peer in 0..<plan.peers {
            let fleet = try Fleet(local: .v4(0x7F00_0001))
            fleets.append(fleet)
            let delay = Duration.nanoseconds(Int64(peer) * 33_333_333 / Int64(plan.peers))
            try fleet.start(
                frames: plan.frames(of: peer), framesPerSecond: Self.cameraRate, audio: plan.audio(of: peer),
                delay: delay)
            firstPictures.append(try await join(peer, fleet))
            // The joins are spread: a keyframe for one peer must not serve the next one too, and the joins must occur
            // at any phase of a tick.
            try await Task.sleep(for: .milliseconds(700 + peer * 37 % 100))
        }
    }

    private func join(_ peer: Int, _ fleet: Fleet) async throws -> Double {
        let seen = FirstPicture()
        let start = MonotonicClock.now()
        var request = JoinRequest(room: Self.room, name: "Peer \(peer + 1)")
        request.view = plan.canvases.first { $0.members.contains(peer) }?.name
        let seat = try conference.join(AdmittedJoin(request, roleIsProven: true)) { [tiles] event in
            if case .tiles(let info) = event.event { tiles.withLock { $0[peer] = info } }
        }
        seats.append(seat)
        if peer >= plan.cameras { try seat.setState(video: false) }
        let offer = try await fleet.offer(0, codec: plan.codec(of: peer), only: true) { seen.note($0) }
        try await fleet.accept(answer: try await seat.offer(offer).text, for: 0)
        while true {
            if let arrival = try seen.arrival { return (arrival - start).inMilliseconds }
            guard MonotonicClock.now() - start < .seconds(15) else {
                throw BenchError("peer \(peer + 1) got no picture within 15 s")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// The time at which the first keyframe was complete at the client.
    private final class FirstPicture: Sendable {
        private let state = Guarded<Result<Instant, BenchError>?>(nil)

        func note(_ event: Fleet.Event) {
            state.withLock { state in
                guard state == nil else { return }
                switch event {
                case .video(let frame) where frame.frame.isKeyframe: state = .success(frame.arrival)
                case .ended(let reason): state = .failure(BenchError(reason))
                default: break
                }
            }
        }

        var arrival: Instant? { get throws(BenchError) { try state.withLock { $0 }?.get() } }
    }

    /// Waits until all renditions run at their full rate.
    ///
    /// Returns the reason where they do not, as on a machine that is far too busy.
    func settle() async throws -> String? {
        let end = MonotonicClock.now() + .seconds(30)
        while MonotonicClock.now() < end {
            let renditions = conference.rooms.room(Self.room)?.renditions ?? []
            if renditions.count == plan.encodes, renditions.allSatisfy({ $0.bitRate >= RoomPlan.bitRate * 0.98 }) {
                try await Task.sleep(for: .seconds(2))
                return nil
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        let state = (conference.rooms.room(Self.room)?.renditions ?? []).map {
            "\($0.codec) \($0.height) at \($0.bitRate)"
        }
        return "the renditions did not come to \(RoomPlan.bitRate): \(state.joined(separator: ", "))"
    }

    func close() async {
        memory.with = ProcessStatistics.own.memory
        for fleet in fleets { fleet.stop() }
        await conference.drain(within: .seconds(3))
        try? FileManager.default.removeItem(atPath: directory)
        // The threads end later on their own; the next measurement must not begin with them.
        try? await Task.sleep(for: .milliseconds(300))
    }

    /// The place of each peer's picture on each canvas, in the order of the joins.
    var places: [[Place]] {
        plan.canvases.map { canvas in
            let info = tiles.withLock { $0[canvas.members.lowerBound] }
            return (info?.tiles ?? []).map {
                Place(tile: PixelRectangle(x: $0.x, y: $0.y, width: $0.width, height: $0.height))
            }
        }
    }

    // MARK: - Measuring

    func measure(windows: Int, of length: Duration) async throws -> [Reading] {
        var readings: [Reading] = []
        var before = Snapshot(conference)
        for _ in 0..<windows {
            try await Task.sleep(for: length)
            let after = Snapshot(conference)
            var reading = after.since(before, plan)
            before = after
            var delays: [Double] = []
            for seat in seats {
                delays.append(try await conference.people.statistics(seat.id, in: Self.room).audioDelay.inMilliseconds)
            }
            reading.audioDelay = Statistics.median(delays)
            readings.append(reading)
        }
        return readings
    }

    private struct Snapshot {
        let at = MonotonicClock.now()
        let threads = ProcessStatistics.own.threads
        let metrics: [MetricSample]

        init(_ conference: Conference) { metrics = conference.metrics() }

        private func value(_ name: String, _ stage: String) -> Double {
            metrics.first { $0.name == name && $0.labels["stage"] == stage }?.value ?? 0
        }

        private func delays(_ part: String) -> [(bound: Double, count: Double)] {
            metrics.filter { $0.name == "tessera_picture_delay_seconds_bucket" && $0.labels["part"] == part }
                .map { (Double($0.labels["le"] ?? "") ?? .infinity, $0.value) }
        }

        /// What a machine too busy skipped is counted as if it had been done: the cost of a job times the jobs of a
        /// second.
        func since(_ old: Snapshot, _ plan: RoomPlan) -> Reading {
            let elapsed = (at - old.at).inSeconds
            let time = { (stage: String) in
                value("tessera_stage_cpu_seconds_total", stage) - old.value("tessera_stage_cpu_seconds_total", stage)
            }
            let jobs = { (stage: String) in
                (value("tessera_stage_jobs_total", stage) - old.value("tessera_stage_jobs_total", stage)) / elapsed
            }
            let thread = { (name: String) in (threads[name] ?? 0) - (old.threads[name] ?? 0) }
            var reading = Reading()
            reading.times.network = thread("media")
            reading.times.decode = time("decode")
            reading.times.compose = time("compose")
            reading.times.encode = time("encode")
            reading.times.audio = time("audio")
            // The time of all threads of the server, less the time of the stages.
            let all = ["work", "audio clock", "picture clock", "control"].reduce(0) { $0 + thread($1) }
            reading.times.other = all - reading.times.video - reading.times.audio
            reading.times = reading.times.per(elapsed)
            (reading.decodes, reading.composes, reading.encodes) = (jobs("decode"), jobs("compose"), jobs("encode"))
            let rate = Double(RoomPlan.framesPerSecond)
            reading.times.decode *= rate * Double(plan.cameras) / max(reading.decodes, 1)
            reading.times.compose *= rate * Double(plan.canvases.count) / max(reading.composes, 1)
            reading.times.encode *= rate * Double(plan.encodes) / max(reading.encodes, 1)
            for stage in ["decode", "compose", "encode"] {
                reading.dropped +=
                    (value("tessera_stage_dropped_total", stage) - old.value("tessera_stage_dropped_total", stage))
                    / elapsed
            }
            for part in ["decode", "wait", "encode", "send", "total"] {
                reading.delays[part] = zip(delays(part), old.delays(part)).map { ($0.bound, $0.count - $1.count) }
            }
            return reading
        }
    }
}
