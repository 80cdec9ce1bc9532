import Basics

/// One SCTP association over a datagram path (RFC 9260, 3758, 6525), without I/O, in virtual time: its handshake, its
/// end, and the dispatch of chunks to sender, receiver and stream resets.
///
/// The path is DTLS: authenticated, with one peer. So the cookie needs no signature, there is a single path, and the
/// peer's INIT may cross ours, since both ends of a data channel transport start (RFC 8841 §9.3).
final class SCTPAssociation {
    enum State { case idle, cookieWait, cookieEchoed, established, shutdownSent, closed }

    /// The number of consecutive timeouts after which the peer counts as unreachable.
    private static let largestErrors = 10
    private static let longestHandshakeTimeout = Duration.seconds(10)
    private static let heartbeatInterval = Duration.seconds(15)
    /// The largest cookie that is echoed, in bytes: it must fit into a packet. Those of dcSCTP and usrsctp have some
    /// hundred.
    private static let largestCookie = 1024

    let configuration: SCTPConfiguration
    let localTag: UInt32
    private(set) var state = State.idle
    private let initialTSN: UInt32
    private var peerTag: UInt32 = 0
    private var peerCookie: [UInt8] = []
    private(set) var sender: SCTPSender
    private(set) var receiver: SCTPReceiver
    private(set) var resets: SCTPStreamResets
    private var packets = Queue<[UInt8]>()
    private var events: [SCTPEvent] = []
    /// Chunks that are sent with the next packet.
    private var control: [SCTPChunk] = []
    /// When the handshake's chunk, a heartbeat or SHUTDOWN is sent (again).
    private var handshakeAt: Instant?
    private var heartbeatAt: Instant?
    private var shutdownAt: Instant?
    /// How often the handshake's chunk was sent without an answer.
    private var attempts = 0
    /// Consecutive timeouts.
    private var errors = 0
    private var refusedMessages = 0
    /// Datagrams that were no packet of this association.
    private(set) var ignored = 0

    /// `tag` and `tsn` are unpredictable numbers; the tag is not zero.
    init(_ configuration: SCTPConfiguration, tag: UInt32, tsn: UInt32) {
        self.configuration = configuration
        localTag = tag == 0 ? 1 : tag
        initialTSN = tsn
        sender = SCTPSender(configuration, initialTSN: tsn)
        receiver = SCTPReceiver(configuration)
        resets = SCTPStreamResets(initialTSN: tsn)
    }

    private var transfersData: Bool { state == .established || state == .shutdownSent }

    func start(at now: Instant) {
        guard state == .idle else { return }
        state = .cookieWait
        attempts = 0
        sendHandshake(at: now)
    }

    // MARK: - Input

    func receive(_ bytes: [UInt8], at now: Instant) {
        guard let packet = SCTPPacket(parsing: bytes), packet.source == configuration.remotePort,
            packet.destination == configuration.localPort, state != .closed
        else {
            ignored += 1
            return
        }
        if case .initiate(let value) = packet.chunks.first {
            guard packet.tag == 0, value.tag != 0 else { return }
            answer(value)
            return
        }
        let reflected: Bool
        switch packet.chunks.first {
        case .abort, .shutdownComplete: reflected = packet.tag == peerTag
        default: reflected = false
        }
        guard packet.tag == localTag || reflected else {
            ignored += 1
            return
        }
        var sawData = false
        var answered: Set<SCTPChunk.Kind> = []
        for chunk in packet.chunks {
            if case .data = chunk { sawData = true }
            // RFC 9260 §6.10: one of these chunks per packet is enough. Each costs a pass over the outstanding chunks,
            // or an answer.
            if let kind = chunk.kind, !answered.insert(kind).inserted { continue }
            handle(chunk, at: now)
            if state == .closed { return }
        }
        // Before the association is established no data is accepted, and a SACK could not be sent.
        if sawData, transfersData { receiver.finishPacket(at: now) }
        flush(at: now)
    }

    private func handle(_ chunk: SCTPChunk, at now: Instant) {
        switch chunk {
        case .initiateAck(let value): initiated(value, at: now)
        case .cookieEcho(let cookie): cookieEchoed(cookie, at: now)
        case .cookieAck: if state == .cookieEchoed { establish(at: now) }
        case .abort: finish(.failed("the data channel peer aborted"))
        case .shutdown(let tsn):
            guard transfersData else { return }
            acknowledge(
                SCTPSack(cumulative: tsn, window: UInt32(clamping: sender.peerWindow), gaps: [], duplicates: []),
                at: now)
            emit([.shutdownAck])
            finish(.closed)
        case .shutdownAck:
            emit([.shutdownComplete])
            finish(.closed)
        case .shutdownComplete: finish(.closed)
        case .heartbeat(let info):
            // A heartbeat that does not fit into a packet of ours cannot come over a path of WebRTC.
            if info.count + 16 <= configuration.packetSize { control.append(.heartbeatAck(info)) }
        case .heartbeatAck: errors = 0
        case .initiate, .other: break
        case .data, .sack, .forwardTSN, .reconfig:
            // Data may overtake the COOKIE ACK.
            if state == .cookieEchoed, peerTag != 0 { establish(at: now) }
            guard transfersData else { return }
            switch chunk {
            case .data(let data): receive(data, at: now)
            case .sack(let sack): acknowledge(sack, at: now)
            case .forwardTSN(let tsn, let skips): if receiver.forward(to: tsn, skips) { deliver(at: now) }
            case .reconfig(let parameters): for parameter in parameters { reconfigure(parameter) }
            default: break
            }
        }
    }

    private func receive(_ data: SCTPData, at now: Instant) {
        do {
            if try receiver.receive(data) { deliver(at: now) }
        } catch {
            // A protocol violation (RFC 9260 §3.3.10.13).
            emit([.abort([0, 13, 0, 4])])
            finish(.failed(error.reason))
        }
    }

    private func deliver(at now: Instant) {
        while let message = receiver.nextMessage(at: now) {
            events.append(.message(stream: message.stream, ppid: message.ppid, payload: message.payload))
        }
    }

    private func acknowledge(_ sack: SCTPSack, at now: Instant) {
        switch sender.acknowledge(sack, at: now) {
        case .stale: return
        case .nothingNew: break
        case .alive: errors = 0
        }
        if state == .established { heartbeatAt = now + Self.heartbeatInterval }
    }

    // MARK: - Handshake

    private func answer(_ value: SCTPInit) {
        let reply = SCTPInit(
            tag: localTag, window: UInt32(configuration.receiveWindow), outbound: configuration.streams,
            inbound: configuration.streams, tsn: initialTSN, cookie: SCTPCookie(value).encoded)
        packets.append(packet(tag: value.tag, [.initiateAck(reply)]))
    }

    private func initiated(_ value: SCTPInit, at now: Instant) {
        guard state == .cookieWait, let cookie = value.cookie, cookie.count <= Self.largestCookie, value.tag != 0 else {
            return
        }
        adopt(SCTPCookie(value))
        peerCookie = cookie
        state = .cookieEchoed
        attempts = 0
        sendHandshake(at: now)
    }

    private func cookieEchoed(_ bytes: [UInt8], at now: Instant) {
        guard let cookie = SCTPCookie(parsing: bytes) else { return }
        switch state {
        case .idle, .cookieWait, .cookieEchoed:
            adopt(cookie)
            emit([.cookieAck])
            establish(at: now)
        case .established where cookie.tag == peerTag: emit([.cookieAck])
        case .established: finish(.failed("the data channel peer started anew"))
        case .shutdownSent, .closed: break
        }
    }

    private func adopt(_ peer: SCTPCookie) {
        peerTag = peer.tag
        sender.adopt(window: Int(peer.window), forwards: peer.forwardTSN)
        receiver.adopt(initialTSN: peer.tsn)
        resets.adopt(initialTSN: peer.tsn)
    }

    private func establish(at now: Instant) {
        state = .established
        handshakeAt = nil
        errors = 0
        sender.start()
        heartbeatAt = now + Self.heartbeatInterval
        events.append(.established)
    }

    private func sendHandshake(at now: Instant) {
        if state == .cookieWait {
            let value = SCTPInit(
                tag: localTag, window: UInt32(configuration.receiveWindow), outbound: configuration.streams,
                inbound: configuration.streams, tsn: initialTSN)
            packets.append(packet(tag: 0, [.initiate(value)]))
        } else {
            emit([.cookieEcho(peerCookie)])
        }
        handshakeAt = now + min(Self.longestHandshakeTimeout, .seconds(1) * (1 << min(attempts, 4)))
    }

    // MARK: - Time

    var nextDeadline: Instant? {
        // The loop reads this after every turn, so it allocates no array.
        var deadline: Instant?
        func consider(_ other: Instant?) {
            if let other { deadline = min(deadline ?? other, other) }
        }
        consider(handshakeAt)
        consider(resets.deadline)
        consider(heartbeatAt)
        consider(shutdownAt)
        consider(receiver.nextDeadline)
        if transfersData { consider(sender.nextDeadline) }
        return deadline
    }

    func advance(to now: Instant) {
        guard state != .closed else { return }
        if let due = handshakeAt, due <= now {
            attempts += 1
            if attempts > Self.largestErrors {
                finish(.failed("the data channel peer does not answer"))
                return
            }
            sendHandshake(at: now)
        }
        receiver.advance(to: now)
        if receiver.mayDeliver(at: now) { deliver(at: now) }
        // The count of errors is cleared if the peer's window is closed but its probes are acknowledged.
        if sender.isTimedOut(at: now), !countTimeout() { return }
        sender.loseTimedOut(at: now)
        if let due = resets.deadline, due <= now {
            guard countTimeout() else { return }
            append(resets.makeRequest(timeout: sender.retransmissionTimeout, at: now))
        }
        if let due = heartbeatAt, due <= now {
            guard countTimeout() else { return }
            var info: [UInt8] = []
            SCTPChunk.append(1, [UInt8](repeating: 0, count: 8), to: &info)
            control.append(.heartbeat(info))
            heartbeatAt = now + Self.heartbeatInterval
        }
        if let due = shutdownAt, due <= now {
            guard countTimeout() else { return }
            sendShutdown(at: now)
        }
        flush(at: now)
    }

    /// Counts one more timeout; false when that ends the association, after ten in a row.
    private func countTimeout() -> Bool {
        errors += 1
        guard errors > Self.largestErrors else { return true }
        finish(.failed("the data channel peer has gone silent"))
        return false
    }

    // MARK: - End

    /// Sends SHUTDOWN and ends once everything is acknowledged.
    func shutdown(at now: Instant) {
        guard state == .established else {
            finish(.closed)
            return
        }
        state = .shutdownSent
        sendShutdown(at: now)
    }

    private func sendShutdown(at now: Instant) {
        emit([.shutdown(receiver.cumulativeTSN)])
        shutdownAt = now + sender.retransmissionTimeout
    }

    /// Sends ABORT and ends at once.
    func abort() {
        guard state != .closed else { return }
        if peerTag != 0 { emit([.abort([])]) }
        finish(.closed)
    }

    private func finish(_ event: SCTPEvent) {
        guard state != .closed else { return }
        state = .closed
        (handshakeAt, heartbeatAt, shutdownAt) = (nil, nil, nil)
        sender.removeAll()
        receiver.removeAll()
        resets.stop()
        control = []
        events.append(event)
    }

    // MARK: - Streams

    /// Sends a message; false if the buffer is full or the association has ended. SCTP has no messages with an empty
    /// payload.
    func send(_ payload: [UInt8], ppid: UInt32, stream: UInt16, _ reliability: SCTPReliability, at now: Instant) -> Bool
    {
        guard state != .closed, state != .shutdownSent, !payload.isEmpty,
            sender.enqueue(payload, ppid: ppid, stream: stream, reliability, at: now)
        else {
            refusedMessages += 1
            return false
        }
        flush(at: now)
        return true
    }

    /// Resets a stream once everything that was sent on it has arrived.
    func reset(_ stream: UInt16, at now: Instant) {
        resets.request(stream)
        flush(at: now)
    }

    private func reconfigure(_ parameter: SCTPReconfig) {
        switch parameter {
        case .response(let request, let result):
            guard let response = resets.receiveResponse(to: request, result) else { return }
            errors = 0
            guard case .done(let streams) = response else { return }
            sender.restart(streams)
            events.append(.outgoingReset(streams))
        case .resetOutgoing(let request, _, let lastTSN, let streams):
            respond(request) {
                // A reset waits until everything sent on the streams has arrived and was delivered.
                guard receiver.reset(streams, sentUpTo: lastTSN) else { return SCTPStreamResets.Result.inProgress }
                events.append(.incomingReset(streams))
                return SCTPStreamResets.Result.performed
            }
        case .resetIncoming(let request, let streams):
            respond(request) {
                for stream in streams where stream < configuration.streams { resets.request(stream) }
                return SCTPStreamResets.Result.performed
            }
        // Requests to add streams, and others.
        case .other(let request): respond(request) { SCTPStreamResets.Result.denied }
        }
    }

    /// Carries out a request of the peer if it is the next one, and answers it.
    private func respond(_ request: UInt32, carryOut: () -> UInt32) {
        guard resets.isNext(request) else { return control.append(resets.respondAgain(to: request)) }
        let result = carryOut()
        control.append(resets.respond(to: request, result))
    }

    // MARK: - Output

    /// Bytes received and not yet delivered, with the overhead of holding them.
    var held: Int { receiver.held }
    /// Bytes that wait to be sent or acknowledged, with the overhead of holding them.
    var buffered: Int { sender.buffered }

    var statistics: SCTPStatistics {
        SCTPStatistics(
            refusedChunks: receiver.refusedChunks, discardedChunks: receiver.discarded, slowed: receiver.slowed,
            refusedMessages: refusedMessages)
    }

    /// The next packet to send.
    func nextPacket() -> [UInt8]? { packets.popFirst() }
    /// All packets to send.
    func takePackets() -> [[UInt8]] { packets.takeAll() }

    /// The events since the last call.
    func takeEvents() -> [SCTPEvent] {
        defer { events = [] }
        return events
    }

    /// Sends what the windows allow.
    func flush(at now: Instant) {
        guard transfersData else { return }
        sender.giveUpExpired(at: now)
        append(sender.takeForwardTSN())
        let ready = resets.ready { sender.isFinished($0) }
        if !ready.isEmpty {
            append(resets.begin(ready, lastTSN: sender.lastTSN, timeout: sender.retransmissionTimeout, at: now))
        }
        var bundle = SCTPBundle(limit: configuration.packetSize)
        func add(_ chunk: SCTPChunk) {
            if let full = bundle.append(chunk) { emit(full) }
        }
        if let sack = receiver.takeSack() { add(.sack(sack)) }
        for chunk in control { add(chunk) }
        control = []
        while let data = sender.nextChunk(at: now) { add(.data(data)) }
        if !bundle.chunks.isEmpty { emit(bundle.chunks) }
        sender.setTimer(at: now)
    }

    private func append(_ chunk: SCTPChunk?) {
        if let chunk { control.append(chunk) }
    }

    private func packet(tag: UInt32, _ chunks: [SCTPChunk]) -> [UInt8] {
        SCTPPacket(source: configuration.localPort, destination: configuration.remotePort, tag: tag, chunks: chunks)
            .encoded()
    }

    private func emit(_ chunks: [SCTPChunk]) {
        packets.append(packet(tag: peerTag, chunks))
    }
}
