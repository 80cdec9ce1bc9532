import Basics
import Call
import Foundation

/// Runs a server, the pair that stays, and all other callers, for the configured time.
struct SoakRun: Sendable {
    let minutes: Double
    let people: Int
    let seed: UInt64
    /// The path of `tessera`.
    let program: String
    /// The folder with the layouts.
    let layouts: String
    /// The folder for all output.
    let directory: String

    let tally = SoakTally()

    /// Small pictures and a ladder of two rungs, so that many rooms fit on two cores beside their clients; rooms end
    /// soon after their last participant left.
    private static let settings = [
        "TESSERA_ROOMS_WIDTH": "640", "TESSERA_ROOMS_HEIGHT": "360", "TESSERA_ROOMS_FRAMESPERSECOND": "30",
        "TESSERA_ROOMS_EMPTYTIMEOUT": "3s",
    ]

    /// - Returns: whether every aim was met. A cancelled run is judged by its samples so far.
    func run() async throws -> Bool {
        Machine.begin()
        note("making what the callers send")
        let footage = try SoakFootage()
        // The number of Swift's threads changes while the server runs.
        let server = try ServerProcess(
            program: program, directory: directory, arguments: ["--layouts", layouts], settings: Self.settings,
            endsWithThread: false)
        note("the server is process \(server.statistics.id), on \(server.http); its log: \(server.logFile)")
        let samples = SampleBox()
        do {
            try await play(HTTPWire(server: server.http, source: server.http.ip), server.statistics, footage, samples)
        } catch is CancellationError {
            tally.fault("the run was cut short")
        } catch {
            tally.fault("\(error)")
        }
        if !server.isAlive { tally.fault("the server ended by itself: see \(server.logFile)") }
        let status = server.stop()
        return try await report(samples.all, status)
    }

    private func play(_ http: HTTPWire, _ process: ProcessStatistics, _ footage: SoakFootage, _ samples: SampleBox)
        async throws
    {
        let address = try SignallingAddress("http://\(http.server)")
        let pair = try SoakPair(address: address)
        defer { pair.crowd.stop() }
        let crowd = try Crowd(places: people, named: "crowd")
        defer { crowd.stop() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pair.run() }
            group.addTask {
                try await pair.ready()
                let begin = ContinuousClock.now
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await watch(http, process, pair, from: begin, into: samples) }
                    group.addTask { try await cycles(address, http, crowd, footage, from: begin) }
                    // The watch ends with the run.
                    try await group.next()
                    group.cancelAll()
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: - The load

    private func cycles(
        _ address: SignallingAddress, _ http: HTTPWire, _ crowd: Crowd, _ footage: SoakFootage,
        from begin: ContinuousClock.Instant
    ) async throws {
        for cycle in 0... {
            let plan = SoakPlan(people: people, cycle: cycle, seed: seed)
            let stage = SoakGuest.Stage(
                address: address, http: http, crowd: crowd, footage: footage, tally: tally,
                begin: begin + .milliseconds(Int64(Double(cycle) * SoakPlan.length * 1000)))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for visit in plan.visits { group.addTask { try await SoakGuest(visit: visit, stage: stage).run() } }
                group.addTask { try await SoakRequests(stage: stage).run(plan.requests) }
                try await group.waitForAll()
            }
            try await stage.sleep(until: SoakPlan.length)
        }
    }

    // MARK: - The measurement

    private func watch(
        _ http: HTTPWire, _ process: ProcessStatistics, _ pair: SoakPair, from begin: ContinuousClock.Instant,
        into samples: SampleBox
    ) async throws {
        let log = try SoakLog(directory: directory)
        for watch in pair.watches { _ = watch.read() }
        var before = (server: process.time, own: ProcessStatistics.own.time)
        var last = ContinuousClock.now
        for number in 1...max(1, Int(minutes * 60 / SoakSample.interval)) {
            let time = Double(number) * SoakSample.interval
            try await Task.sleep(until: begin + .milliseconds(Int64(time * 1000)), tolerance: .milliseconds(5))
            let metrics = try await http.fetch("GET", "/metrics")
            let now = ContinuousClock.now
            let elapsed = (now - last).inSeconds
            let reading = ServerReading(process, metrics: ServerMetrics(metrics.text))
            let ownTime = ProcessStatistics.own.time
            let sample = SoakSample(
                time: time, server: reading, serverLoad: (reading.processorTime - before.server) / elapsed,
                clientLoad: (ownTime - before.own) / elapsed, taken: Machine.taken, lips: pair.watches.map { $0.read() }
            )
            (before, last) = ((reading.processorTime, ownTime), now)
            samples.append(sample)
            try log.write(sample)
            if number.isMultiple(of: 6) { note(line(sample)) }
        }
    }

    private func line(_ sample: SoakSample) -> String {
        func number(_ value: Double, _ digits: Int = 0) -> String {
            value.formatted(.number.precision(.fractionLength(digits)))
        }
        return
            "\(number(sample.time / 60)) min: \(number(sample.server.resident)) MB, \(sample.server.descriptors) descriptors, "
            + "\(sample.server.threads) threads, \(number(sample.gauge("tessera_participants"))) people in \(number(sample.gauge("tessera_rooms"))) rooms, "
            + "cores \(number(sample.serverLoad, 2)) + \(number(sample.clientLoad, 2)), sound behind by "
            + sample.offsets.map { $0.map { number($0) } ?? "?" }.joined(separator: "/")
            + " ms, gaps \(number(sample.audioGap))/\(number(sample.pictureGap)) ms, \(tally.faults.count) faults"
    }

    private func report(_ samples: [SoakSample], _ status: Int32?) async throws -> Bool {
        let faults = tally.faults
        let verdict = SoakVerdict(samples, faults: faults.count, exitStatus: status)
        var text =
            "Soak test of \(people) people beside a pair for \(Int((samples.last?.time ?? 0) / 60)) minutes, seed \(seed).\n\n\(verdict.text)\n\n"
        let audio = samples.map(\.audioGap), picture = samples.map(\.pictureGap)
        text +=
            "Longest time without at the pair, in ms: audio \(Int(audio.max() ?? 0)) (median of 10 s \(Int(Statistics.median(audio)))), "
        text += "picture \(Int(picture.max() ?? 0)) (\(Int(Statistics.median(picture)))); packets of audio lost: "
        text += "\(samples.reduce(0) { $0 + $1.lips.reduce(0) { $0 + $1.lostPackets } }).\n"
        text += "Cores in use, mean: server \(String(format: "%.2f", mean(samples.map(\.serverLoad)))), clients "
        text += "\(String(format: "%.2f", mean(samples.map(\.clientLoad)))).\n"
        text += "Done: " + tally.counts.map { "\($0.what) \($0.count)" }.joined(separator: ", ") + ".\n"
        text += "Machine: \(Machine.description).\n"
        if faults.count > 0 { text += "\nWent wrong:\n" + faults.first.map { "- \($0)\n" }.joined() }
        try text.write(toFile: directory + "/report.md", atomically: true, encoding: .utf8)
        try SoakPlot(samples).svg.write(toFile: directory + "/soak.svg", atomically: true, encoding: .utf8)
        print(text)
        print(verdict.holds ? "Every aim was met." : "An aim was missed.")
        return verdict.holds
    }

    private func mean(_ values: [Double]) -> Double { values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count) }

    /// Writes progress to standard error, so that standard output has the tables only.
    private func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
