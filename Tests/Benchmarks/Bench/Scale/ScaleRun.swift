import Basics
import Call
import Foundation

/// Adds rooms of four to a server with a given number of cores until it is overloaded.
struct ScaleRun: Sendable {
    static let peoplePerRoom = 4
    /// Small pictures, so that network and audio have a large share and work that cannot be distributed shows sooner.
    private static let settings = [
        "TESSERA_ROOMS_WIDTH": "640", "TESSERA_ROOMS_HEIGHT": "360", "TESSERA_ROOMS_FRAMESPERSECOND": "30",
        "TESSERA_LIMITS_JOINSPERSECONDPERADDRESS": "1000", "TESSERA_LIMITS_HALFOPENPERADDRESS": "200",
        "TESSERA_LIMITS_ROOMSPERADDRESS": "200", "TESSERA_LIMITS_SEATSPERADDRESS": "1000",
    ]
    /// The time from the last join until the callers' estimates have grown and each has the rung that its link carries.
    private static let settling = Duration.seconds(6)

    let cores: [Int]
    let callers: [Int]
    let mostPeople: Int
    let window: Duration
    let program: String
    let layouts: String
    let directory: String
    /// Further settings of the server, such as its loops.
    var more: [String: String] = [:]
    let footage: SoakFootage

    /// A reading for each number of rooms, including the last, which was too many.
    func run() async throws -> [ScaleReading] {
        try Affinity.set(callers)
        let server = try ServerProcess(
            program: program, directory: directory, arguments: ["--layouts", layouts],
            settings: Self.settings.merging(more) { $1 },
            cores: cores, endsWithThread: false)
        defer { _ = server.stop() }
        let crowd = try Crowd(places: mostPeople, named: "callers")
        defer { crowd.stop() }
        return try await load(server, crowd)
    }

    private func load(_ server: ServerProcess, _ crowd: Crowd) async throws -> [ScaleReading] {
        let http = HTTPWire(server: server.http, source: server.http.ip)
        let address = try SignallingAddress("http://\(http.server)")
        var readings: [ScaleReading] = []
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for room in 0..<mostPeople / Self.peoplePerRoom {
                for seat in 0..<Self.peoplePerRoom {
                    let place = room * Self.peoplePerRoom + seat
                    let codec = seat % 2 == 0 ? VideoCodec.h264 : .vp8
                    guard let source = footage.source(codec, isLoud: seat == 0) else { continue }
                    let guest = ScaleGuest(
                        place: place, room: "room-\(room)", address: address, crowd: crowd, source: source,
                        options: Crowd.Options(codec: codec))
                    group.addTask {
                        // The participant ends with the run, which is no fault.
                        do { try await guest.run() } catch { if !Task.isCancelled { throw error } }
                    }
                    try await Task.sleep(for: .milliseconds(100))
                }
                try await Task.sleep(for: Self.settling)
                let before = ScaleReading.Moment(server.statistics, try await metrics(http))
                try await Task.sleep(for: window)
                let after = ScaleReading.Moment(server.statistics, try await metrics(http))
                guard server.isAlive else { throw BenchError("the server ended by itself: see \(server.logFile)") }
                let people = (room + 1) * Self.peoplePerRoom
                try await check(crowd, people)
                readings.append(after.since(before, people: people))
                note(line(readings[readings.count - 1]))
                if readings[readings.count - 1].isTooMuch { break }
            }
        }
        return readings
    }

    private func metrics(_ http: HTTPWire) async throws -> ServerMetrics {
        ServerMetrics(try await http.fetch("GET", "/metrics").text)
    }

    /// Throws where a participant gets no video or audio, since the measurement would be invalid.
    private func check(_ crowd: Crowd, _ people: Int) async throws {
        for place in 0..<people {
            let tally = try await crowd.perform(place) { leg, _ in leg.tally }
            guard let tally, tally.keyframes > 0, tally.packets > 0 else {
                throw BenchError("guest \(place) gets no picture or no sound")
            }
        }
    }

    private func line(_ reading: ScaleReading) -> String {
        func number(_ value: Double) -> String { value.formatted(.number.precision(.fractionLength(2))) }
        return
            "\(cores.count) cores, \(reading.people) people: server \(number(reading.serverLoad)), callers \(number(reading.callerLoad)) cores, "
            + "overload \(reading.overload), late ticks \(number(reading.lateTicks))/s"
    }

    private func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}

extension ScaleReading {
    /// Whether more than 1 % of a room's ticks were late, audio was skipped, or the server began to save work.
    var isTooMuch: Bool {
        overload > 0 || lateTicks > 0.01 * 30 * Double(people) / Double(ScaleRun.peoplePerRoom) || skippedAudio > 0
    }
}
