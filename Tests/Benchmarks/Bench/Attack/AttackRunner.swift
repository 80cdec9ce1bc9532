import Basics
import Foundation
import Glibc
import Threads

/// Runs attacks one after the other, each against a server with a call on it. Confined to one thread.
final class AttackRunner {
    private let program: String
    private let scratch: String
    private let seconds: Double
    private var bounds = AttackOutcome.Bounds()
    private var stage: Stage?
    /// The number of started servers.
    private var servers = 0
    private let note: (String) -> Void
    /// Servers whose memory is still observed in the background.
    private var parked: [Parked] = []

    /// The part of the machine's time for the host's other guests or other programs here beyond which a row is run
    /// again.
    private static let stealLimit = 0.03
    private static let othersLimit = 0.15
    private static let mostTries = 3
    /// Rooms end 30 s after the last participant left, and a vanished one counts as present for 30 s; after both times
    /// the memory must be released.
    private static let memoryPatience: Duration = .seconds(90)
    private static let memoryReading: Duration = .seconds(30)

    init(program: String, scratch: String, seconds: Double, note: @escaping (String) -> Void) {
        (self.program, self.scratch, self.seconds, self.note) = (program, scratch, seconds, note)
    }

    /// A server with its bystanders.
    private struct Stage {
        var server: ServerProcess
        var shape: Attack.Shape
        var bystander: ChildProcess
        var addresses: [SocketAddress]
    }

    /// A server whose row is done, and whose memory is still observed.
    private final class Parked {
        let server: ServerProcess
        let ended: Instant
        let row: Int
        init(server: ServerProcess, ended: Instant, row: Int) {
            (self.server, self.ended, self.row) = (server, ended, row)
        }
    }

    // MARK: - The table

    /// - Parameter isQuick: whether no row is run again, and memory is not awaited.
    func run(_ attacks: [Attack], bounds: AttackOutcome.Bounds, isQuick: Bool) throws -> [AttackOutcome] {
        self.bounds = bounds
        var rows: [AttackOutcome] = []
        for attack in attacks {
            var row = try attempt(attack, index: rows.count)
            while !isQuick, row.stolen > Self.stealLimit || row.others > Self.othersLimit, row.tries < Self.mostTries {
                note(
                    "\(attack.name): the machine was disturbed (\(Int(row.stolen * 100)) % taken, \(Int(row.others * 100)) % by others); again"
                )
                let tries = row.tries
                parked.removeAll { $0.row == rows.count }
                row = try attempt(attack, index: rows.count)
                row.tries = tries + 1
            }
            if rows.isEmpty { self.bounds.undisturbed = row.audioGap }
            rows.append(row)
            lookAtParked(&rows, wait: false)
            note(Self.line(rows[rows.count - 1], isOpen: parked.contains { $0.row == rows.count - 1 }))
        }
        if isQuick { parked = [] }
        while !parked.isEmpty {
            lookAtParked(&rows, wait: true)
            usleep(500_000)
        }
        for index in rows.indices { rows[index].judge(self.bounds) }
        stage = nil
        return rows
    }

    private static func line(_ row: AttackOutcome, isOpen: Bool) -> String {
        String(
            format:
                "%@: sound %.0f ms, picture %.0f ms, loop %@ ms, %.0f > %.0f > %.0f MB%@, newcomer %.0f / %.0f ms, healthz %d of %d failed%@ %@",
            row.name,
            row.audioGap, row.pictureGap, AttackTable.turn(row), row.memoryBefore, row.memoryPeak, row.memoryAfter,
            isOpen ? " so far" : "", row.newcomerMeanwhile, row.newcomerAfterwards, row.failedChecks, row.checks,
            row.stolen + row.others > 0.05 ? String(format: ", others %.0f %%", (row.stolen + row.others) * 100) : "",
            (row.faults + row.remarks).joined(separator: "; "))
    }

    /// Reads the memory of parked servers, 30 s after their row or as soon as it is released later.
    private func lookAtParked(_ rows: inout [AttackOutcome], wait: Bool) {
        let now = MonotonicClock.now()
        parked.removeAll { entry in
            let age = now - entry.ended
            let memory = entry.server.statistics.memory
            if age <= Self.memoryReading || rows[entry.row].memoryAfter == 0 { rows[entry.row].memoryAfter = memory }
            let isBack = memory <= rows[entry.row].memoryBefore + bounds.memory
            if isBack { rows[entry.row].memoryBack = age.inSeconds }
            return isBack || age > Self.memoryPatience || !entry.server.isAlive
        }
    }

    // MARK: - One row

    private func stage(_ shape: Attack.Shape) throws -> Stage {
        if let stage, stage.shape == shape, stage.server.isAlive, stage.bystander.status == nil { return stage }
        stage = nil
        servers += 1
        let server = try ServerProcess(
            program: program, directory: "\(scratch)/\(servers)", arguments: ["--log-level", "warning"],
            settings: shape.settings.merging(
                shape.secret.map { ["TESSERA_AUTH_MODE": "token", "TESSERA_AUTH_SECRET": $0] } ?? [:]
            ) { $1 },
            descriptors: shape.descriptors,
            endsWithThread: true)
        // The bystanders get a high priority where the system permits it: their own delays must not look like the
        // server's.
        let script = #"renice -n -15 -p $$ >/dev/null 2>&1; chrt -f -p 1 $$ >/dev/null 2>&1; exec "$@""#
        var arguments = [CommandLine.arguments[0], "bystander", "--http", "\(server.http)"]
        if let secret = shape.secret { arguments += ["--token", AccessToken.make(room: "*", secret: secret)] }
        let bystander = try ChildProcess(script: script, arguments: arguments)
        guard let ready: BystanderReading.Ready = ask(bystander, nil, within: .seconds(30)) else {
            throw WireError("the bystanders do not come up")
        }
        if let fault = ready.fault { throw WireError("the bystanders' call: \(fault)") }
        let made = Stage(
            server: server, shape: shape, bystander: bystander,
            addresses: ready.addresses.compactMap { SocketAddress($0) })
        stage = made
        return made
    }

    private func ask<Answer: Decodable>(_ child: ChildProcess, _ question: String?, within limit: Duration) -> Answer? {
        if let question { child.write(question) }
        return child.line(within: limit).flatMap { try? JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
    }

    private func attempt(_ attack: Attack, index: Int) throws -> AttackOutcome {
        try attack.prepare?()
        let stage = try stage(attack.shape)
        var row = AttackOutcome(name: attack.name)
        let statistics = stage.server.statistics
        waitForShortTurns(stage)
        statistics.resetPeak()
        stage.bystander.write("mark")
        row.memoryBefore = statistics.memory
        row.memoryLimit = attack.memory
        let descriptors = statistics.descriptors, files = stage.server.files
        let before = (
            machine: MachineTime.now(), server: statistics.time, bystander: stage.bystander.statistics.time,
            own: ProcessStatistics.own.time
        )
        let threads = statistics.threads
        let start = MonotonicClock.now()
        let context = AttackContext(
            http: stage.server.http, media: stage.server.media, bystanders: stage.addresses,
            end: start + .nanoseconds(Int64(seconds * 1e9)))
        context.spawn(attack.run)

        MonotonicClock.sleep(until: start + .nanoseconds(Int64(seconds * 0.35e9)))
        // The bystander answers during the attack, or reports within 10 s why it cannot.
        let meanwhile: BystanderReading.Newcomer? = ask(stage.bystander, "newcomer", within: .seconds(20))
        row.newcomerMeanwhile = meanwhile.map { $0.fault == nil ? $0.milliseconds : -1 } ?? -1
        if let fault = meanwhile?.fault { row.remarks.append("newcomer: \(fault)") }
        MonotonicClock.sleep(until: context.end)
        // A thread that waits for the server may end later, by its own timeout.
        let patience = context.end + .seconds(6)
        while context.running > 0, MonotonicClock.now() < patience { usleep(20_000) }
        let took = (MonotonicClock.now() - start).inSeconds
        let reading: BystanderReading? = ask(stage.bystander, "read", within: .seconds(15))
        let ended = MonotonicClock.now()
        fill(&row, reading)
        row.faults += context.faults
        row.remarks += context.remarks
        if !context.failures.isEmpty, stage.server.isAlive {
            row.remarks.append("the attack: " + context.failures.joined(separator: ", "))
        }
        for (name, time) in statistics.threads {
            let percent = (time - (threads[name] ?? 0)) / took * 100
            if percent >= 1 { row.threads[name] = percent }
        }
        guard stage.server.isAlive else {
            row.verdict = .died
            row.faults.insert("the server died: \(stage.server.obituary)", at: 0)
            row.memoryPeak = row.memoryBefore
            self.stage = nil
            return row
        }
        let after: BystanderReading.Newcomer? = ask(stage.bystander, "newcomer", within: .seconds(20))
        row.newcomerAfterwards = after.map { $0.fault == nil ? $0.milliseconds : -1 } ?? -1
        if let fault = after?.fault { row.remarks.append("newcomer afterwards: \(fault)") }
        let known = [
            statistics.time - before.server, stage.bystander.statistics.time - before.bystander,
            ProcessStatistics.own.time - before.own,
        ]
        account(&row, since: before.machine, known: known)
        row.memoryPeak = statistics.peak
        settle(&row, stage, attack, index: index, ended: ended, descriptors: descriptors, files: files)
        return row
    }

    /// Waits until the server's report of its longest turn, which covers 15 s, includes no turn from its start or from
    /// the earlier row.
    private func waitForShortTurns(_ stage: Stage) {
        // The state that the last row's newcomer left settles.
        usleep(700_000)
        for _ in 0..<32 {
            let reading: BystanderReading? = ask(stage.bystander, "read", within: .seconds(5))
            guard let turn = reading?.loopTurn, turn >= bounds.loopTurn / 2 else { return }
            usleep(500_000)
        }
    }

    private func fill(_ row: inout AttackOutcome, _ reading: BystanderReading?) {
        guard let reading else {
            row.faults.append("the bystanders do not answer")
            return
        }
        row.audioGap = reading.audioGap
        row.pictureGap = reading.pictureGap
        row.packetsLost = reading.packetsLost
        row.loopTurn = reading.loopTurn
        row.loopTurnProcessor = reading.loopTurnProcessor
        (row.checks, row.failedChecks) = (reading.checks, reading.failedChecks)
        if let end = reading.end { row.faults.append("the bystanders' call ended: \(end)") }
    }

    private func account(_ row: inout AttackOutcome, since earlier: MachineTime, known: [Double]) {
        let spent = MachineTime.now().since(earlier)
        row.stolen = spent.stolen
        row.others = spent.allSeconds > 0 ? max(0, spent.busySeconds - known.reduce(0, +)) / spent.allSeconds : 0
    }

    /// Waits for the server's memory if it is nearly released; otherwise a new server runs the next row while this one
    /// is observed.
    private func settle(
        _ row: inout AttackOutcome, _ stage: Stage, _ attack: Attack, index: Int, ended: Instant, descriptors: Int,
        files: Int
    ) {
        let statistics = stage.server.statistics
        let limit = row.memoryBefore + bounds.memory
        let patience = ended + .seconds(5)
        while MonotonicClock.now() < patience,
            statistics.memory > limit || statistics.descriptors > descriptors + bounds.descriptors
        { usleep(200_000) }
        row.memoryAfter = statistics.memory
        row.descriptors = max(0, statistics.descriptors - descriptors)
        row.files = max(0, stage.server.files - files)
        if row.memoryAfter <= limit { row.memoryBack = (MonotonicClock.now() - ended).inSeconds }
        var probe = row
        probe.memoryBack = probe.memoryBack ?? 0
        var bounds = bounds
        if index == 0 { bounds.undisturbed = row.audioGap }
        probe.judge(bounds)
        guard probe.verdict != .held || row.memoryBack == nil || attack.shape != .shipped else { return }
        // A server that is harmed, or whose memory is not released, must not affect the next row.
        self.stage = nil
        stage.bystander.kill()
        if row.memoryBack == nil {
            parked.append(Parked(server: stage.server, ended: ended, row: index))
            waitUntilQuiet(stage.server)
        }
    }

    /// Waits for the server to be idle: its work on earlier datagrams would take processor time from the next server.
    private func waitUntilQuiet(_ server: ServerProcess) {
        for _ in 0..<30 {
            let before = server.statistics.time
            usleep(1_000_000)
            if server.statistics.time - before < 0.2 { return }
        }
    }
}
