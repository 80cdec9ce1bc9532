import Basics
import Foundation
import Sockets

/// Runs `tessera call`: one or many headless participants against a server.
public enum CallRunner {
    /// Stays in the call for the duration of the options, or until the task is cancelled or the server ends the call.
    /// `report` gets a line about each event that matters to a user.
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
                    // The joins are spread, because servers limit the joins from one address.
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
            // However the call ended, the received media becomes a proper file.
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

    /// Joins, and retries when the server asks for it, as the web client does: the server may have just started, or
    /// many clients join at once.
    private func joinInTime(_ address: SignallingAddress, _ saver: CallSaver?) async throws {
        var attempt = 1
        while true {
            do {
                return try await join(address, saver)
            } catch let refusal as TooMany {
                guard attempt < TooMany.maxAttempts else { throw CallError("\(name): \(refusal.message)") }
                attempt += 1
                // The random delay keeps participants that were refused together from retrying together.
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
                // The call ends when its time is over, when the server ends it, or when the media ends.
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
        /// Only the first participant of a fleet reports who is in the room.
        let announce = { (lines: [String]) in if number == 0 { for line in lines { report("\(name): \(line)") } } }
        for await message in messages {
            switch message {
            case .joined(let id, let update):
                isInside = true
                people = RoomPeople(own: id)
                announce(people?.apply(update) ?? [])
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
            case .people(let update): announce(people?.apply(update) ?? [])
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
        // An interrupt also ends the stream of messages.
        try Task.checkCancellation()
        throw CallError("\(name): the server closed the signalling connection")
    }
}

/// The server refuses a join now and asks to retry later.
private struct TooMany: Error {
    var message: String
    /// Seconds.
    var retryAfter: Int

    /// After this many attempts the server counts as full, not busy.
    static let maxAttempts = 10
}
