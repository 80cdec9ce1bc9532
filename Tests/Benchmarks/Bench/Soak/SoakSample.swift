import Foundation

/// The measurements of one interval of the soak test.
struct SoakSample: Sendable {
    /// The length of an interval in seconds; a cycle is a multiple of it.
    static let interval = 10.0

    /// The end of the interval, in seconds from the first cycle's start.
    var time: Double
    var server: ServerReading
    /// The processors used in the interval.
    var serverLoad: Double
    var clientLoad: Double
    /// The part of the machine's time that its host gave to other guests.
    var taken: Double
    /// The observations of the pair, by place.
    var lips: [LipWatch.Reading]

    var cycle: Int { Int((time - 1) / SoakPlan.length) }
    /// Seconds from the cycle's start.
    var phase: Double { time - Double(cycle) * SoakPlan.length }
    /// Whether only the pair is in a call.
    var isQuiet: Bool { phase > SoakPlan.quiet }

    /// The median offset of each direction, in milliseconds; nil without observations.
    var offsets: [Double?] { lips.map { $0.offsets.isEmpty ? nil : Statistics.median($0.offsets) } }
    /// The offset with the larger magnitude; nil where one is missing.
    var worstOffset: Double? {
        let known = offsets.compactMap { $0 }
        return known.count == lips.count ? known.max { abs($0) < abs($1) } : nil
    }
    var audioGap: Double { lips.map(\.audioGap).max() ?? 0 }
    var pictureGap: Double { lips.map(\.pictureGap).max() ?? 0 }

    func gauge(_ name: String) -> Double { server.metrics.gauges[name] ?? 0 }
}

/// Writes samples to files as they are taken, so that an interrupted run leaves its data.
struct SoakLog {
    private static let columns: [(name: String, value: @Sendable (SoakSample) -> Double?)] = [
        ("time_s", { $0.time }), ("cycle", { Double($0.cycle) }), ("phase_s", { $0.phase }),
        ("resident_mb", { $0.server.resident }), ("pss_mb", { $0.server.proportional }),
        ("anonymous_mb", { $0.server.anonymous }),
        ("descriptors", { Double($0.server.descriptors) }), ("threads", { Double($0.server.threads) }),
        ("server_cores", { $0.serverLoad }), ("client_cores", { $0.clientLoad }), ("taken", { $0.taken }),
        ("rooms", { $0.gauge("tessera_rooms") }), ("participants", { $0.gauge("tessera_participants") }),
        ("recordings", { $0.gauge("tessera_recordings_running") }),
        ("connections", { $0.gauge("tessera_signalling_connections") }),
        ("overload", { $0.gauge("tessera_overload_level") }),
        ("av_offset_1_ms", { $0.offsets.first ?? nil }), ("av_offset_2_ms", { $0.offsets.last ?? nil }),
        ("sound_gap_ms", { $0.audioGap }), ("picture_gap_ms", { $0.pictureGap }),
        ("sound_lost", { Double($0.lips.reduce(0) { $0 + $1.lostPackets }) }),
    ]

    private let table: FileHandle
    private let metrics: FileHandle

    /// Writes `soak.csv` with the columns above, and `metrics.jsonl` with every gauge and counter of the server.
    init(directory: String) throws {
        table = try Self.file(directory + "/soak.csv")
        metrics = try Self.file(directory + "/metrics.jsonl")
        try table.write(contentsOf: Data((Self.columns.map(\.name).joined(separator: ",") + "\n").utf8))
    }

    func write(_ sample: SoakSample) throws {
        let cells = Self.columns.map { column in
            column.value(sample).map {
                $0.formatted(
                    .number.precision(.fractionLength(0...3)).grouping(.never).locale(Locale(identifier: "en_US_POSIX"))
                )
            } ?? ""
        }
        try table.write(contentsOf: Data((cells.joined(separator: ",") + "\n").utf8))
        let all: [String: Any] = [
            "time": sample.time, "gauges": sample.server.metrics.gauges, "counters": sample.server.metrics.counters,
        ]
        try metrics.write(
            contentsOf: try JSONSerialization.data(withJSONObject: all, options: [.sortedKeys]) + Data("\n".utf8))
    }

    private static func file(_ path: String) throws -> FileHandle {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        guard let handle = FileHandle(forWritingAtPath: path) else { throw BenchError("\(path) cannot be written") }
        return handle
    }
}
