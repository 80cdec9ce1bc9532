import Basics
import Call
import Foundation
import Peer
import Simulation

/// Executes one visit of the plan against the server by the native signalling.
struct SoakGuest: Sendable {
    /// The state that all guests of a run share.
    struct Stage: Sendable {
        let address: SignallingAddress
        let http: HTTPWire
        let crowd: Crowd
        let footage: SoakFootage
        let tally: SoakTally
        /// The cycle's start.
        let begin: ContinuousClock.Instant

        func sleep(until second: Double) async throws {
            try await Task.sleep(until: begin + .milliseconds(Int64(second * 1000)), tolerance: .milliseconds(5))
        }
    }

    let visit: SoakPlan.Visit
    let stage: Stage

    /// The state that outlives one signalling connection of the visit.
    private final class Progress: Sendable {
        struct State {
            var next = 0
            var claim: SoakMessage.Claim?
            var isSilent = false
            var isLeaving = false
            var wasSentAway = false
        }
        let state = Guarded(State())
    }

    private enum Outcome: Sendable { case resume, done }

    /// Runs the visit; every error is counted as a fault in the tally.
    func run() async throws {
        try await stage.sleep(until: visit.arrives)
        stage.tally.count("visits")
        do {
            switch visit.endpoint {
            case .signalling: try await call()
            case .whip, .whep: try await SoakStream(visit: visit, stage: stage).run()
            }
        } catch {
            try Task.checkCancellation()
            stage.tally.fault("\(visit.name) in \(visit.room): \(error)")
        }
        try? await stage.crowd.vanish(visit.place)
    }

    private func call() async throws {
        let progress = Progress()
        while try await connection(progress) == .resume {}
        if visit.exit == .vanish {
            stage.tally.count("vanished")
        } else if visit.exit == .sentAway, !progress.state.withLock({ $0.wasSentAway }) {
            throw BenchError("got no message that the room ended")
        }
    }

    private func connection(_ progress: Progress) async throws -> Outcome {
        let result = Guarded(Outcome.done)
        try await SignallingClient.withConnection(
            to: stage.address, decode: SoakMessage.init(json:),
            answersPings: { progress.state.withLock { !$0.isSilent } }
        ) { messages, sender in
            if let claim = progress.state.withLock({ $0.claim }) {
                stage.tally.count("seats taken back")
                let resume: [String: String] = ["id": claim.id, "secret": claim.secret]
                try await sender.send(["type": "join", "room": visit.room, "name": visit.name, "resume": resume])
            } else {
                try await sender.send(["type": "join", "room": visit.room, "name": visit.name])
            }
            let outcome = try await withThrowingTaskGroup(of: Outcome.self) { group in
                group.addTask {
                    try await follow(messages, sender, progress)
                    return .done
                }
                group.addTask { try await play(sender, progress) }
                defer { group.cancelAll() }
                return try await group.next() ?? .done
            }
            result.withLock { $0 = outcome }
        }
        return result.withLock { $0 }
    }

    /// Handles the server's messages. Returns when the connection ends as planned, and throws otherwise.
    private func follow(
        _ messages: AsyncStream<SoakMessage>, _ sender: SignallingClient.Sender, _ progress: Progress
    ) async throws {
        for await message in messages {
            switch message {
            case .joined(_, let resume):
                let isNew = progress.state.withLock { state in
                    defer { state.claim = resume ?? state.claim }
                    return state.claim == nil
                }
                if isNew { try await enter(sender) }
            case .answer(let sdp): try await stage.crowd.accept(sdp, at: visit.place, overTCP: visit.overTCP)
            case .left(let reason):
                // The answer to the guest's own `leave`.
                if progress.state.withLock({ $0.isLeaving }) { return }
                progress.state.withLock { $0.wasSentAway = true }
                guard visit.exit == .sentAway else { throw BenchError("was sent away: \(reason)") }
                stage.tally.count("sent away")
                try await check()
                return
            case .error(let code, let text, let fatal):
                stage.tally.count("answers \(code)")
                if fatal || ["bad_sdp", "no_common_codec", "bad_message", "internal"].contains(code) {
                    throw BenchError("\(text) (\(code))")
                }
            case .tiles, .other: break
            }
        }
        try Task.checkCancellation()
        // The server closes the connection of a silent client.
        if progress.state.withLock({ $0.isSilent }) { return try await Task.sleep(for: .seconds(3600)) }
        throw BenchError("the server closed the signalling connection")
    }

    private func enter(_ sender: SignallingClient.Sender) async throws {
        guard let source = stage.footage.source(visit.codec, isLoud: visit.isLoud) else {
            throw BenchError("nothing to send")
        }
        let options = Crowd.Options(codec: visit.codec, overTCP: visit.overTCP)
        let sdp = try await stage.crowd.enter(visit.place, options, source: source)
        try await sender.send(["type": "offer", "sdp": sdp])
        try await sender.send(["type": "state", "audio": true, "video": true, "hand": false])
    }

    // MARK: - The plan

    private func play(_ sender: SignallingClient.Sender, _ progress: Progress) async throws -> Outcome {
        let deeds = visit.deeds.sorted { $0.at < $1.at }
        while let deed = progress.state.withLock({ deeds.indices.contains($0.next) ? deeds[$0.next] : nil }),
            deed.at < visit.leaves
        {
            try await stage.sleep(until: deed.at)
            progress.state.withLock { $0.next += 1 }
            if case .resume = deed.what { return .resume }
            try await act(deed.what, sender)
        }
        try await stage.sleep(until: visit.leaves)
        try await leave(sender, progress)
        return .done
    }

    private func act(_ deed: SoakPlan.Deed, _ sender: SignallingClient.Sender) async throws {
        stage.tally.count(deed.name)
        switch deed {
        case .microphone(let isOn):
            _ = try await stage.crowd.perform(visit.place) { leg, _ in leg.sendsAudio = isOn }
            try await sender.send(["type": "state", "audio": isOn])
        case .camera(let isOn):
            _ = try await stage.crowd.perform(visit.place) { leg, _ in leg.sendsPicture = isOn }
            try await sender.send(["type": "state", "video": isOn])
        case .hand(let isUp): try await sender.send(["type": "state", "hand": isUp])
        case .layout(let name, let everyone):
            try await sender.send(["type": "layout", "name": name, "scope": everyone ? "room" : "me"])
        case .present(let isOn): try await sender.send(["type": "present", "on": isOn])
        case .offer, .restartICE:
            let restarts = if case .restartICE = deed { true } else { false }
            let sdp = try await stage.crowd.perform(visit.place) { leg, now in
                leg.connection.makeOffer(at: now, iceRestart: restarts)
            }
            if let sdp { try await sender.send(["type": "offer", "sdp": sdp]) }
        case .move(let address): _ = try await stage.crowd.perform(visit.place) { leg, _ in leg.shown = address }
        case .link(let conditions):
            let seed = UInt64(visit.place)
            _ = try await stage.crowd.perform(visit.place) { leg, _ in leg.change(link: conditions, seed: seed) }
        case .message(let bytes):
            _ = try await stage.crowd.perform(visit.place) { leg, now in
                leg.connection.sendMessage(
                    .binary([UInt8](repeating: 7, count: bytes)), label: SoakLeg.channel, at: now)
            }
        case .chat: try await sender.send(["type": "chat", "text": "from \(visit.name)"])
        case .record(let action): try await sender.send(["type": "record", "action": action])
        case .resume: break
        }
    }

    private func leave(_ sender: SignallingClient.Sender, _ progress: Progress) async throws {
        if visit.exit != .sentAway { try await check() }
        switch visit.exit {
        case .leave:
            progress.state.withLock { $0.isLeaving = true }
            try await sender.send(["type": "leave"])
            try await stage.crowd.leave(visit.place)
        case .hangUp: try await stage.crowd.leave(visit.place)
        case .drop: try await stage.crowd.vanish(visit.place)
        case .vanish:
            progress.state.withLock { $0.isSilent = true }
            try await stage.crowd.vanish(visit.place)
            // The connection stays open until long after the server gave it up.
            try await stage.sleep(until: SoakPlan.quiet - 2)
        case .sentAway: try await Task.sleep(for: .seconds(2))
        }
    }

    /// Checks that the guest received video and audio.
    private func check() async throws { try await stage.check(visit) }
}

extension SoakGuest.Stage {
    /// - Throws: when the caller of a visit did not receive the expected media.
    func check(_ visit: SoakPlan.Visit) async throws {
        guard let tally = try await crowd.perform(visit.place, { leg, _ in leg.tally }) else {
            throw BenchError("has no connection")
        }
        if case .ended(let reason) = tally.state, visit.exit != .sentAway {
            throw BenchError("lost its connection: \(reason)")
        }
        guard tally.keyframes > 0, tally.packets > 0 else {
            throw BenchError(
                "got \(tally.frames) pictures (\(tally.keyframes) keyframes) and \(tally.packets) packets of sound")
        }
    }
}

extension SoakPlan.Deed {
    /// A description for the report.
    var name: String {
        switch self {
        case .microphone: "microphone switched"
        case .camera: "camera switched"
        case .hand: "hand raised"
        case .layout(_, let everyone): everyone ? "layout of a room changed" : "view of one's own"
        case .present: "presentation switched"
        case .offer: "offered again"
        case .restartICE: "ICE restarted"
        case .move: "address changed"
        case .link: "line changed"
        case .message: "data channel message"
        case .chat: "chat"
        case .record(let action): "recording: \(action)"
        case .resume: "signalling broken"
        }
    }
}
