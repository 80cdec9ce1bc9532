import Basics
import Conference
import Threads

/// Takes the messages of all clients apart, and passes each event on.
final class SocketIOEvents: Sendable {
    private let sessions: SocketIOSessions
    private let calls: SocketIOCalls
    private let chat: SocketIOChat
    private let counts = Guarded(Counts())

    private struct Counts {
        var taken = 0
        var ignored = 0
    }

    init(_ sessions: SocketIOSessions, calls: SocketIOCalls, chat: SocketIOChat) {
        self.sessions = sessions
        self.calls = calls
        self.chat = chat
        sessions.onEnd = { [weak calls] client in calls?.gone(client) }
        sessions.onTick = { [weak calls] client, now in calls?.timePassed(client, at: now) }
    }

    func handle(_ messages: [EnginePacket.Content], _ client: SocketIOClient) async {
        for message in messages {
            do {
                let assembled = try client.change { state throws(SocketFault) in try state.assembler.take(message) }
                if let assembled { await handle(assembled, client) }
            } catch {
                return sessions.end(client, .malformed)
            }
        }
    }

    private func handle(_ assembled: PacketAssembler.Assembled, _ client: SocketIOClient) async {
        let packet = assembled.packet
        guard packet.namespace == "/" else {
            guard packet.kind == .connect else { return }
            var refusal = SocketPacket(.error, data: "Invalid namespace")
            refusal.namespace = String(packet.namespace.prefix(64))
            return sessions.send(refusal, [], to: client)
        }
        if packet.kind == .disconnect { return sessions.end(client, .closed) }
        guard let (name, arguments) = packet.event else { return }
        let bytes = assembled.attachments.reduce(0) { $0 + $1.count }
        let verdict = client.change { $0.allowance.event(bytes: bytes, at: MonotonicClock.now()) }
        counts.withLock { verdict == .take ? ($0.taken += 1) : ($0.ignored += 1) }
        let argument = arguments.first ?? .null
        switch verdict {
        case .take where assembled.isCut:
            return decline(
                name, argument, packet.id, client,
                "its file has more than 8 MiB, or the server holds too many files just now: try again.")
        case .take: break
        case .ignore: return decline(name, argument, packet.id, client, "that was too much at once: wait a moment.")
        case .end: return sessions.end(client, .tooFast)
        }
        switch name {
        case "chat": await chat.received(argument, assembled.attachments, packet.id, client)
        case "videoChat": calls.call(argument, packet.id, client)
        case "cancelVideoChat": calls.cancel(argument, client)
        case "__join": calls.join(argument, client)
        case "__offer": calls.offer(argument, client)
        case "__ice_candidate": calls.candidate(argument, client)
        case "closeRoom": calls.close(client)
        // The original server ignores what it does not know, too.
        default: break
        }
    }

    /// Answers an event that is not handled, where its app waits for the answer.
    private func decline(_ name: String, _ argument: JSONValue, _ id: Int?, _ client: SocketIOClient, _ reason: String)
    {
        guard id != nil else { return }
        switch name {
        case "chat": chat.decline(argument, id, client, reason)
        case "videoChat": calls.decline(id, client)
        default: break
        }
    }

    var samples: [MetricSample] {
        let counts = counts.withLock { $0 }
        return [
            MetricSample(
                "tessera_socketio_events_total", "Events of Socket.IO clients.", .counter, Double(counts.taken)),
            MetricSample(
                "tessera_socketio_events_ignored_total", "Events of Socket.IO clients beyond their rate.", .counter,
                Double(counts.ignored)),
        ]
    }
}
