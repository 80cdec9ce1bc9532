import Basics

/// One session of Engine.IO 3 as a state machine: requests, frames and time in, answers and frames out. No socket, task
/// or clock inside.
///
/// A session begins by polling, and usually moves to a WebSocket: the client probes it (`2probe`), the server answers
/// there (`3probe`) and completes the waiting poll, and with `5` on the WebSocket all traffic moves. The client pings;
/// the server only answers, and ends a session of which it hears nothing.
struct EngineSession: Sendable {
    /// A held GET.
    typealias Poll = Int
    typealias Socket = Int

    enum Action: Sendable, Equatable {
        /// Completes a GET with these packets.
        case answer(Poll, [EnginePacket])
        /// Answers a GET that may not be: 400.
        case refuse(Poll)
        case send(EnginePacket, Socket)
        /// A message of the client.
        case deliver(EnginePacket.Content)
        case close(Socket)
        /// The last action of a session.
        case ended(End)
    }

    /// Why a session ended; the label of the metric.
    enum End: String, Sendable, CaseIterable {
        case closed, silent, overlap, malformed, transport, draining, evicted
        case tooSlow = "too_slow"
        case tooFast = "too_fast"
    }

    /// Told in the handshake. The original server's 3 s and 5 s cost ten times as many requests, and the Swift client
    /// drops a session when one ping has no answer within a shorter timeout than interval.
    static let pingInterval = Duration.seconds(25)
    static let pingTimeout = Duration.seconds(60)
    /// A session ends when no packet has come for this long.
    static let silenceLimit = pingInterval + pingTimeout
    /// A GET with nothing to answer is held this long; the client's own ping ends most earlier.
    static let pollLimit = Duration.seconds(25)
    /// During a probe, a GET that arrives late is completed after this long, so that the client may pause polling.
    static let probePollLimit = Duration.milliseconds(100)
    /// The time from the opening of the WebSocket to the end of its probe.
    static let upgradeLimit = Duration.seconds(10)
    /// The most packets that wait for a client, and their bytes.
    static let maxPackets = 256
    static let maxBytes = 24 << 20
    /// The most bytes of a ping's text, which the answer repeats. Clients send none, and `probe` in a probe.
    static let maxPingBytes = 64
    /// The most answers to pings that wait: a client pings once in 25 s, and polls in between.
    static let maxPongs = 4

    private enum Transport: Sendable, Equatable {
        case polling(held: Held?)
        case socket(Socket)
    }

    private struct Held: Equatable {
        var poll: Poll
        var until: Instant
    }

    private struct Probe: Equatable {
        var socket: Socket
        var until: Instant
        /// The client's `2probe` has come.
        var isAnswered = false
    }

    private var transport: Transport
    private var probe: Probe?
    /// Packets that wait for the next poll.
    private var queue: [EnginePacket] = []
    private(set) var queuedBytes = 0
    var queuedPackets: Int { queue.count }
    /// When the last packet came.
    private(set) var lastHeard: Instant
    private(set) var isOver = false

    /// A session that polls.
    init(at now: Instant) {
        transport = .polling(held: nil)
        lastHeard = now
    }

    /// A session that begins on a WebSocket.
    init(on socket: Socket, at now: Instant) {
        transport = .socket(socket)
        lastHeard = now
    }

    /// Whether neither a WebSocket nor a held GET connects the client: the session can make room for another.
    var isIdle: Bool { transport == .polling(held: nil) && probe == nil }

    // MARK: Polling

    mutating func polled(_ poll: Poll, at now: Instant) -> [Action] {
        guard !isOver, case .polling(let held) = transport else { return [.refuse(poll)] }
        guard held == nil else { return [.refuse(poll)] + end(.overlap) }
        guard queue.isEmpty else { return [.answer(poll, takeQueue())] }
        let isProbing = probe?.isAnswered ?? false
        let limit = isProbing ? EngineSession.probePollLimit : EngineSession.pollLimit
        transport = .polling(held: Held(poll: poll, until: now + limit))
        return []
    }

    /// The packets of a POST.
    mutating func posted(_ packets: [EnginePacket], at now: Instant) -> [Action] {
        packets.flatMap { isOver ? [] : received($0, at: now) }
    }

    // MARK: WebSocket

    /// A WebSocket of the client that begins as a probe.
    mutating func opened(_ socket: Socket, at now: Instant) -> [Action] {
        guard !isOver, case .polling = transport, probe == nil else { return [.close(socket)] }
        probe = Probe(socket: socket, until: now + EngineSession.upgradeLimit)
        return []
    }

    mutating func received(_ packet: EnginePacket, on socket: Socket, at now: Instant) -> [Action] {
        if isOver { return [] }
        if transport == .socket(socket) { return received(packet, at: now) }
        guard probe?.socket == socket else { return [] }
        lastHeard = now
        switch packet.kind {
        case .ping where packet.text.utf8.count <= EngineSession.maxPingBytes:
            probe?.isAnswered = true
            var actions = [Action.send(EnginePacket(.pong, packet.text), socket)]
            // The client waits for its GET before it moves.
            if case .polling(let held?) = transport {
                transport = .polling(held: nil)
                actions.append(.answer(held.poll, [EnginePacket(.noop)]))
            }
            return actions
        case .upgrade where probe?.isAnswered == true:
            var actions: [Action] = []
            if case .polling(let held?) = transport { actions.append(.answer(held.poll, [EnginePacket(.noop)])) }
            transport = .socket(socket)
            probe = nil
            return actions + takeQueue().map { .send($0, socket) }
        default:
            probe = nil
            return [.close(socket)]
        }
    }

    /// The WebSocket has ended.
    mutating func closed(_ socket: Socket) -> [Action] {
        if probe?.socket == socket { probe = nil }
        return transport == .socket(socket) ? end(.transport) : []
    }

    // MARK: Both

    private mutating func received(_ packet: EnginePacket, at now: Instant) -> [Action] {
        lastHeard = now
        switch packet.kind {
        case .ping: return pong(packet.text)
        case .message: return [.deliver(packet.content)]
        case .close: return end(.closed)
        case .open, .pong, .upgrade, .noop: return []
        }
    }

    private mutating func pong(_ text: String) -> [Action] {
        guard text.utf8.count <= EngineSession.maxPingBytes else { return end(.malformed) }
        let waiting = queue.reduce(0) { $0 + ($1.kind == .pong ? 1 : 0) }
        return waiting < EngineSession.maxPongs ? send([EnginePacket(.pong, text)]) : []
    }

    /// Sends packets together, or queues them for the next poll. A client that leaves too much waiting loses its
    /// session.
    mutating func send(_ packets: [EnginePacket]) -> [Action] {
        if isOver { return [] }
        switch transport {
        case .socket(let socket):
            return packets.map { .send($0, socket) }
        case .polling(let held?):
            transport = .polling(held: nil)
            return [.answer(held.poll, takeQueue() + packets)]
        case .polling:
            queue += packets
            queuedBytes += packets.reduce(0) { $0 + $1.count }
            return queue.count > EngineSession.maxPackets || queuedBytes > EngineSession.maxBytes ? end(.tooSlow) : []
        }
    }

    /// Ends the session: the client gets a close packet where one can reach it.
    mutating func end(_ reason: End) -> [Action] {
        if isOver { return [] }
        isOver = true
        queue = []
        queuedBytes = 0
        var actions: [Action] = []
        switch transport {
        case .polling(let held?): actions.append(.answer(held.poll, [EnginePacket(.close)]))
        case .polling: break
        case .socket(let socket):
            if reason != .transport { actions.append(.send(EnginePacket(.close), socket)) }
            actions.append(.close(socket))
        }
        if let probe { actions.append(.close(probe.socket)) }
        probe = nil
        transport = .polling(held: nil)
        return actions + [.ended(reason)]
    }

    private mutating func takeQueue() -> [EnginePacket] {
        defer { (queue, queuedBytes) = ([], 0) }
        return queue
    }

    // MARK: Time

    /// When `timePassed` has something to do.
    var deadline: Instant {
        if isOver { return .distantFuture }
        var deadline = lastHeard + EngineSession.silenceLimit
        if case .polling(let held?) = transport { deadline = min(deadline, held.until) }
        if let probe { deadline = min(deadline, probe.until) }
        return deadline
    }

    mutating func timePassed(at now: Instant) -> [Action] {
        if isOver { return [] }
        if now >= lastHeard + EngineSession.silenceLimit { return end(.silent) }
        var actions: [Action] = []
        if let probe, now >= probe.until {
            self.probe = nil
            actions.append(.close(probe.socket))
        }
        if case .polling(let held?) = transport, now >= held.until {
            transport = .polling(held: nil)
            actions.append(.answer(held.poll, [EnginePacket(.noop)]))
        }
        return actions
    }
}

extension EnginePacket {
    /// The content of a packet of text.
    fileprivate var text: String {
        if case .text(let text) = content { text } else { "" }
    }
}
