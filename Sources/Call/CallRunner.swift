import Basics
import Foundation
import Sockets

/// Runs `tessera call`: one or many headless participants against a server.
public enum CallRunner {
    /// Stays in the call for the time asked, or until the task is cancelled or the server sends everyone away.
    /// `report` gets a line about each thing that a person would want to know.
    public static func run(_ options: CallOptions, report: @escaping @Sendable (String) -> Void = { _ in }) async throws
    {
        guard (1...1000).contains(options.count) else {
            throw CallError("--count \(options.count): 1 to 1000 participants")
        }
        let address = try SignallingAddress(options.url)
        let isLocal = address.host == "localhost" || IPAddress(address.host)?.isLoopback == true
        let fleet = try Fleet(local: isLocal ? .v4(0x7F00_0001) : localAddress())
        try fleet.start(options: options)
        defer { fleet.stop() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<options.count {
                group.addTask {
                    // A crowd does not arrive in one instant, and servers limit joins from one address.
                    try await Task.sleep(for: .milliseconds(number * 220))
                    try await Participant(number: number, options: options, fleet: fleet, report: report).run(address)
                }
            }
            try await group.waitForAll()
        }
    }

    /// The first address of this machine that is not loopback; loopback where there is no other.
    private static func localAddress() -> IPAddress {
        interfaceAddresses().first { address in
            if case .v4 = address { return !address.isLoopback }
            return false
        } ?? .v4(0x7F00_0001)
    }
}

/// One headless participant: signalling on one side, the fleet's media on the other.
private struct Participant {
    let number: Int
    let options: CallOptions
    let fleet: Fleet
    let report: @Sendable (String) -> Void

    private var name: String { options.count == 1 ? options.name : "\(options.name) \(number + 1)" }

    func run(_ address: SignallingAddress) async throws {
        let saver = try savePath.map { try CallSaver(file: $0) }
        do {
            try await joinInTime(address, saver)
        } catch {
            // However the call ended, what came of it is a proper file.
            try? await close(saver)
            throw error
        }
        try await close(saver)
    }

    private func close(_ saver: CallSaver?) async throws {
        guard let saver else { return }
        let summary = try await saver.finish()
        report("\(name): saved \(summary)")
    }

    /// Comes again when the server says so, as a page does: it may have only just started, or many come at once.
    private func joinInTime(_ address: SignallingAddress, _ saver: CallSaver?) async throws {
        var attempt = 1
        while true {
            do {
                return try await join(address, saver)
            } catch let refusal as TooMany {
                guard attempt < TooMany.maxAttempts else { throw CallError("\(name): \(refusal.message)") }
                attempt += 1
                // Those who were refused together do not come back together.
                let wait = Double(refusal.retryAfter) * Double.random(in: 1...2)
                report("\(name): \(refusal.message); trying again in \(Int(wait.rounded(.up))) s")
                try await Task.sleep(for: .seconds(wait))
            }
        }
    }

    private func join(_ address: SignallingAddress, _ saver: CallSaver?) async throws {
        let ended = AsyncStream.makeStream(of: String.self)
        try await SignallingClient.withConnection(to: address, decode: SignallingClient.Message.init(json:)) {
            messages, sender in
            var join: [String: any Sendable] = ["type": "join", "room": options.room, "name": name, "deltas": true]
            if let token = options.token { join["token"] = token }
            try await sender.send(join)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await follow(messages, sender, saver, ended.continuation) }
                group.addTask {
                    for await reason in ended.stream { throw CallError("\(name): \(reason)") }
                }
                if let duration = options.duration {
                    group.addTask { try await Task.sleep(for: duration) }
                }
                // Whatever ends first ends the call: the time, the server, the media.
                let result = await group.nextResult()
                group.cancelAll()
                fleet.close(number)
                try? await sender.send(["type": "leave"])
                if case .failure(let error)? = result, !(error is CancellationError) { throw error }
            }
        }
    }

    private var savePath: String? {
        guard let path = options.save, options.count > 1 else { return options.save }
        let url = URL(fileURLWithPath: path)
        return url.deletingPathExtension().path + "-\(number + 1)."
            + (url.pathExtension.isEmpty ? "mp4" : url.pathExtension)
    }

    private func follow(
        _ messages: AsyncStream<SignallingClient.Message>, _ sender: SignallingClient.Sender, _ saver: CallSaver?,
        _ ended: AsyncStream<String>.Continuation
    ) async throws {
        var isInside = false
        var people: RoomPeople?
        /// One of a fleet tells for all who is here.
        let tell = { (words: [String]) in if number == 0 { for line in words { report("\(name): \(line)") } } }
        for await message in messages {
            switch message {
            case .joined(let id, let news):
                isInside = true
                people = RoomPeople(own: id)
                tell(people?.take(news) ?? [])
                let name = name, report = report
                let offer = try await fleet.offer(number, codec: options.codec) { event in
                    switch event {
                    case .connected: report("\(name): connected")
                    case .video(let frame): saver?.append(frame)
                    case .audio(let packet): saver?.append(packet)
                    case .ended(let reason): ended.yield(reason)
                    }
                }
                try await sender.send(["type": "offer", "sdp": offer])
                try await sender.send(["type": "state", "audio": true, "video": true, "hand": false])
            case .answer(let sdp): try await fleet.accept(answer: sdp, for: number)
            case .people(let news): tell(people?.take(news) ?? [])
            case .left(let reason):
                report("\(name): the server ended the call: \(reason)")
                return
            case .error(let code, let text, let isFatal, let retryAfter):
                if !isInside, code == "too_fast" || code == "overloaded" {
                    throw TooMany(message: "\(text) (\(code))", retryAfter: max(1, min(retryAfter ?? 2, 60)))
                }
                if isFatal || code == "bad_sdp" || code == "no_common_codec" || code.hasPrefix("room_") {
                    throw CallError("\(name): \(text) (\(code))")
                }
                report("\(name): \(text) (\(code))")
            case .other: break
            }
        }
        // An interrupt ends the stream of messages too.
        try Task.checkCancellation()
        throw CallError("\(name): the server closed the signalling connection")
    }
}

/// The server has no room for a join now, and will have some later.
private struct TooMany: Error {
    var message: String
    /// Seconds.
    var retryAfter: Int

    /// Then the server is full, not busy.
    static let maxAttempts = 10
}
