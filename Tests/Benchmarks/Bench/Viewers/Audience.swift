import Basics
import Foundation
import Glibc
import Threads

/// One room with its senders and viewers, with signalling only. Used by one thread.
final class Audience {
    /// Values per second: bytes and messages of one viewer, and processor time in seconds.
    struct Statistics {
        var bytes = 0.0
        var messages = 0.0
        var control = 0.0
        var process = 0.0
    }

    let server: ServerProcess
    private var senders: [SignalWire] = []
    private var viewers: [SignalWire] = []

    private static let settings = [
        "TESSERA_LIMITS_JOINSPERSECONDPERADDRESS": "1000", "TESSERA_LIMITS_SEATSPERADDRESS": "1000",
        "TESSERA_ROOMS_MAXPARTICIPANTS": "1000", "TESSERA_ROOMS_MAXVIEWERS": "1000",
        "TESSERA_LIMITS_CONNECTIONS": "2000", "TESSERA_LIMITS_CONNECTIONSPERADDRESS": "2000",
        "TESSERA_LIMITS_REQUESTSPERSECONDPERADDRESS": "1000",
    ]
    /// How often each sender changes its state.
    private static let period = Duration.milliseconds(250)

    init(program: String, directory: String, viewers: Int, senders: Int, followsChanges: Bool) throws(WireError) {
        server = try ServerProcess(
            program: program, directory: directory, settings: Self.settings, descriptors: 8192, endsWithThread: false)
        for number in 0..<senders + viewers {
            let wire = try SignalWire(to: server.http, from: .loopback(1, 1 + number % 200))
            let isViewer = number >= senders
            try wire.join(
                "hall", as: "Person \(number)",
                extra: ["role": isViewer ? "viewer" : "participant", "deltas": followsChanges])
            if isViewer { self.viewers.append(wire) } else { self.senders.append(wire) }
            // The messages that the joins cause are read, so that they do not accumulate.
            if number % 20 == 0 { readAll() }
        }
        let end = MonotonicClock.now() + .seconds(2)
        while MonotonicClock.now() < end { readAll() }
    }

    /// Reads and discards the received messages. Returns the counts of the viewers.
    @discardableResult
    private func readAll() -> (bytes: Int, messages: Int) {
        var (bytes, messages) = (0, 0)
        for wire in viewers {
            while case .text(let text) = wire.next(timeout: .zero) {
                bytes += text.utf8.count
                messages += 1
            }
        }
        for wire in senders { wire.drain() }
        return (bytes, messages)
    }

    /// - Parameter isChanging: whether the senders raise and lower their hands.
    func measure(seconds: Double, isChanging: Bool = true) throws(WireError) -> Statistics {
        let (threads, process) = (server.statistics.threads, server.statistics.time)
        let start = MonotonicClock.now()
        var next = start
        var (bytes, messages, turn) = (0, 0, 0)
        while MonotonicClock.now() - start < .seconds(seconds) {
            // The senders change in turn, so that the changes are spread over the period.
            while isChanging, MonotonicClock.now() >= next {
                let sender = senders[turn % senders.count]
                try sender.send(["type": "state", "hand": turn / senders.count % 2 == 0])
                turn += 1
                next += Self.period / senders.count
            }
            let read = readAll()
            bytes += read.bytes
            messages += read.messages
            usleep(2000)
        }
        let spent = (MonotonicClock.now() - start).inSeconds
        let now = server.statistics
        return Statistics(
            bytes: Double(bytes) / Double(viewers.count) / spent,
            messages: Double(messages) / Double(viewers.count) / spent,
            control: ((now.threads["control"] ?? 0) - (threads["control"] ?? 0)) / spent,
            process: (now.time - process) / spent)
    }
}
