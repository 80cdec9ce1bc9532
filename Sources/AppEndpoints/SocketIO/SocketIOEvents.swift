import Basics
import Conference
import Threads
import WebServer

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
                if let assembled = try assemble(message, client) { await handle(assembled, client) }
            } catch {
                return sessions.end(client, error == .tooFast ? .tooFast : .malformed)
            }
        }
    }

    /// Takes a message. Of a text only the first bytes are read before the session's allowance is asked for it.
    private func assemble(
        _ message: EnginePacket.Content, _ client: SocketIOClient
    ) throws(SocketFault) -> PacketAssembler.Assembled? {
        guard case .text(let text) = message else {
            if case .binary(let attachment) = message { sessions.makeRoom(for: attachment.count) }
            return try client.change { state throws(SocketFault) in try state.assembler.take(message) }
        }
        let head = try SocketPacket.Head(parsing: text)
        let isTaken = try client.change { state throws(SocketFault) in
            switch head.kind {
            case .ack, .binaryAck:
                // Whether a client has a message means nothing here.
                try state.assembler.skip(head)
                return true
            case .disconnect: return false
            case .connect, .event, .error, .binaryEvent:
                switch state.allowance.packet(bytes: text.utf8.count, at: MonotonicClock.now()) {
                case .take: return false
                case .ignore: try state.assembler.skip(head)
                case .end: throw .tooFast
                }
                return true
            }
        }
        if isTaken {
            guard head.kind == .event || head.kind == .binaryEvent else { return nil }
            counts.withLock { $0.ignored += 1 }
            decline(head.name ?? "", .null, head.id, client, SocketIOEvents.tooMuch)
            return nil
        }
        if head.attachments > 0 { sessions.makeRoom(for: text.utf8.count) }
        return try client.change { state throws(SocketFault) in try state.assembler.take(message) }
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
        let verdict = client.change { $0.allowance.files(bytes: bytes, at: MonotonicClock.now()) }
        counts.withLock { verdict == .take ? ($0.taken += 1) : ($0.ignored += 1) }
        let argument = arguments.first ?? .null
        switch verdict {
        case .take where assembled.isCut:
            return decline(
                name, argument, packet.id, client,
                "its file has more than 8 MiB, or the server holds too many files just now: try again.")
        case .take: break
        case .ignore: return decline(name, argument, packet.id, client, SocketIOEvents.tooMuch)
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

    private static let tooMuch = "that was too much at once: wait a moment."

    /// Answers an event that is not handled, where its app waits for the answer. `argument` is null where the event was
    /// not parsed: then no conversation is told why.
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
