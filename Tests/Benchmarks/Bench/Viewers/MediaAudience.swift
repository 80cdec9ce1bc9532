import Basics
import Call
import Codecs
import Foundation
import Threads

/// One room with two who send and many who only watch, with media, on a server of its own.
struct MediaAudience: Sendable {
    /// The measurements of the window, after all are there.
    struct Reading: Sendable {
        var load = ScaleReading()
        /// What the server sends to all, in Mbit/s.
        var megabits = 0.0
        /// Pictures per second that each viewer got.
        var pictures: [Double] = []
        /// From each viewer's join to its first complete keyframe, in milliseconds.
        var firstPictures: [Double] = []
    }

    static let senders = 2
    private static let settings = [
        "TESSERA_ROOMS_WIDTH": "640", "TESSERA_ROOMS_HEIGHT": "360", "TESSERA_ROOMS_FRAMESPERSECOND": "30",
        "TESSERA_ROOMS_MAXVIEWERS": "1000", "TESSERA_LIMITS_JOINSPERSECONDPERADDRESS": "1000",
        "TESSERA_LIMITS_HALFOPEN": "1000", "TESSERA_LIMITS_HALFOPENPERADDRESS": "1000",
        "TESSERA_LIMITS_SEATSPERADDRESS": "1000",
        "TESSERA_LIMITS_CONNECTIONS": "2000", "TESSERA_LIMITS_CONNECTIONSPERADDRESS": "2000",
    ]
    /// The time between two joins.
    private static let spacing = Duration.milliseconds(50)
    /// From the last join until each has the rung that its link carries.
    private static let settling = Duration.seconds(6)

    let viewers: Int
    let seconds: Double
    let program: String
    let directory: String

    func run() async throws -> Reading {
        let footage = try SoakFootage()
        let server = try ServerProcess(
            program: program, directory: directory, settings: Self.settings, descriptors: 8192, endsWithThread: false)
        defer { _ = server.stop() }
        let crowd = try Crowd(places: Self.senders + viewers, named: "callers")
        defer { crowd.stop() }
        let address = try SignallingAddress("http://\(server.http)")
        let first = Guarded<[Double]>([])
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for place in 0..<Self.senders + viewers {
                let codec = place % 2 == 0 ? VideoCodec.h264 : .vp8
                guard let source = footage.source(codec, isLoud: place == 0) else { continue }
                let watches = place >= Self.senders
                let guest = ScaleGuest(
                    place: place, room: "hall", role: watches ? "viewer" : "participant", address: address,
                    crowd: crowd,
                    source: source, options: Crowd.Options(codec: codec, watchesOnly: watches)
                ) { milliseconds in
                    if watches { first.withLock { $0.append(milliseconds) } }
                }
                group.addTask {
                    // The guest ends with the run, which is no fault.
                    do { try await guest.run() } catch { if !Task.isCancelled { throw error } }
                }
                try await Task.sleep(for: Self.spacing)
            }
            try await Task.sleep(for: Self.settling)
            var reading = try await measure(server, crowd)
            reading.firstPictures = first.withLock { $0 }
            return reading
        }
    }

    private func measure(_ server: ServerProcess, _ crowd: Crowd) async throws -> Reading {
        let http = HTTPWire(server: server.http, source: server.http.ip)
        func metrics() async throws -> ServerMetrics {
            ServerMetrics(try await http.fetch("GET", "/metrics").text)
        }
        let sent = #"tessera_network_bytes_total{direction="out"}"#
        let earlier = try await metrics(), start = MonotonicClock.now()
        let before = ScaleReading.Moment(server.statistics, earlier), frames = try await self.frames(crowd)
        try await Task.sleep(for: .seconds(seconds))
        let later = try await metrics(), spent = (MonotonicClock.now() - start).inSeconds
        let after = ScaleReading.Moment(server.statistics, later)
        guard server.isAlive else { throw BenchError("the server ended by itself: see \(server.logFile)") }
        var reading = Reading()
        reading.load = after.since(before, people: Self.senders + viewers)
        reading.megabits = ((later.counters[sent] ?? 0) - (earlier.counters[sent] ?? 0)) * 8 / 1e6 / spent
        reading.pictures = zip(try await self.frames(crowd), frames).map { Double($0 - $1) / spent }
        return reading
    }

    /// The frames that each viewer has got so far.
    private func frames(_ crowd: Crowd) async throws -> [Int] {
        var counts: [Int] = []
        for place in Self.senders..<Self.senders + viewers {
            counts.append(try await crowd.perform(place) { leg, _ in leg.tally.frames } ?? 0)
        }
        return counts
    }
}
