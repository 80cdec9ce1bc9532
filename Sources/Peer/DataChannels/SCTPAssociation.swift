import Basics
import COpenSSL

/// One SCTP association over a datagram path (RFC 9260, 3758, 6525), without I/O, in virtual time.
///
/// The path is DTLS: authenticated, one peer. So the cookie needs no signature, one path is all, and the other end's
/// INIT may cross ours, since both ends of a data channel transport start (RFC 8841 §9.3).
final class SCTPAssociation {
    enum State { case idle, cookieWait, cookieEchoed, established, shutdownSent, closed }

    struct Outgoing {
        enum State { case inFlight, waiting, acknowledged, abandoned }

        var data: SCTPData
        var message: UInt64
        var reliability: SCTPReliability
        var expires: Instant?
        var sentAt: Instant
        var transmissions = 1
        var missed = 0
        var state = State.inFlight
    }

    struct Pending {
        var id: UInt64
        var stream: UInt16
        var ppid: UInt32
        var payload: [UInt8]
        var offset = 0
        var ssn: UInt16 = 0
        var reliability: SCTPReliability
        var expires: Instant?
    }

    let configuration: SCTPConfiguration
    var state = State.idle
    var packets = Queue<[UInt8]>()
    var events: [SCTPEvent] = []
    var statistics = SCTPStatistics()
    /// Datagrams that were no packet of this association.
    var ignored = 0

    let localTag: UInt32
    let initialTSN: UInt32
    var peerTag: UInt32 = 0
    var peerForwards = false
    var peerCookie: [UInt8] = []

    // Sending.
    var pending = Queue<Pending>()
    /// With TSNs in a row from the one behind `acknowledgedTSN` on.
    var outstanding = Queue<Outgoing>()
    /// Payload of `outstanding` that is in flight, and how many of it wait to be sent again, the first of them at or behind `firstWaiting`.
    var flight = 0
    var waiting = 0
    var firstWaiting: UInt32 = 0
    /// Messages and chunks of each stream that are still to arrive.
    var unfinished: [UInt16: Int] = [:]
    /// When to look for messages whose time is over, and when that was done last.
    var expiryAt: Instant?
    var lastExpiry = Instant.distantPast
    /// Something was given up or acknowledged since FORWARD-TSN was thought about.
    var mayForward = false
    var nextTSN: UInt32
    var acknowledgedTSN: UInt32
    var forwardedTSN: UInt32
    var nextMessage: UInt64 = 0
    var outboundSSN: [UInt16: UInt16] = [:]
    var buffered = 0
    var peerWindow = 0
    var congestionWindow: Int
    var slowStartThreshold = Int.max
    var partiallyAcknowledged = 0
    var recoveryExit: UInt32?
    var retransmissionTimeout = Duration.seconds(1)
    var smoothedRoundTrip: Duration?
    var roundTripVariation = Duration.zero
    var measured: (tsn: UInt32, at: Instant)?
    var errors = 0
    var control: [SCTPChunk] = []

    // Timers.
    var handshakeAt: Instant?
    var dataAt: Instant?
    var sackAt: Instant?
    var resetAt: Instant?
    var heartbeatAt: Instant?
    var shutdownAt: Instant?
    var attempts = 0

    // Receiving.
    var numbers = SCTPReceivedNumbers(cumulative: 0)
    var reassembly: SCTPReassembly
    var messageBudget: TokenBucket
    var byteBudget: TokenBucket
    var deliverAt: Instant?
    var isSlowed = false
    var refusedBytes = 0
    var advertisedWindow: Int
    var unacknowledgedPackets = 0
    var sackNow = false

    // Stream resets.
    var resetWanted: Set<UInt16> = []
    var resetRequest: (number: UInt32, streams: [UInt16], lastTSN: UInt32)?
    var nextRequest: UInt32
    var peerRequest: UInt32 = 0
    var lastResult: UInt32 = 1

    static let largestErrors = 10
    static let shortestTimeout = Duration.milliseconds(300)
    static let longestTimeout = Duration.seconds(10)
    static let heartbeatInterval = Duration.seconds(15)
    static let sackDelay = Duration.milliseconds(20)
    /// Bytes of a cookie that is sent back: it must fit into a packet. dcSCTP's and usrsctp's have some hundred.
    static let largestCookie = 1024

    /// `tag` and `tsn` are unpredictable numbers; the tag is not zero.
    init(_ configuration: SCTPConfiguration, tag: UInt32, tsn: UInt32) {
        self.configuration = configuration
        localTag = tag == 0 ? 1 : tag
        initialTSN = tsn
        nextTSN = tsn
        acknowledgedTSN = tsn &- 1
        forwardedTSN = tsn &- 1
        nextRequest = tsn
        reassembly = SCTPReassembly(streams: configuration.streams, maximumMessage: configuration.maximumMessage)
        let budget = configuration.budget
        messageBudget = TokenBucket(rate: budget.messagesPerSecond, size: budget.messageBurst, at: .zero)
        // A message that is larger than the bucket would wait for ever.
        byteBudget = TokenBucket(
            rate: budget.bytesPerSecond, size: max(budget.byteBurst, Double(configuration.maximumMessage)), at: .zero)
        advertisedWindow = configuration.receiveWindow
        congestionWindow = max(2 * configuration.packetSize, min(4 * configuration.packetSize, 4380))
    }

    func start(at now: Instant) {
        guard state == .idle else { return }
        state = .cookieWait
        attempts = 0
        sendHandshake(at: now)
    }

    var nextDeadline: Instant? {
        // Asked after every turn of the loop: no array for it.
        var deadline: Instant?
        func consider(_ other: Instant?) {
            if let other { deadline = min(deadline ?? other, other) }
        }
        consider(handshakeAt)
        consider(dataAt)
        consider(sackAt)
        consider(resetAt)
        consider(heartbeatAt)
        consider(shutdownAt)
        consider(deliverAt)
        if state == .established || state == .shutdownSent { consider(expiryAt) }
        return deadline
    }

    /// Bytes received and not yet delivered, with what they cost to hold.
    var held: Int { reassembly.held }

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
            // RFC 9260 §6.10: one of these is enough for a packet. Each costs a walk over what was sent, or an answer.
            if let kind = chunk.kind, !answered.insert(kind).inserted { continue }
            handle(chunk, at: now)
            if state == .closed { return }
        }
        if sawData {
            unacknowledgedPackets += 1
            if unacknowledgedPackets >= 2 || numbers.hasHoles || !numbers.duplicates.isEmpty { sackNow = true }
            if sackAt == nil { sackAt = now + Self.sackDelay }
        }
        flush(at: now)
    }

    private func handle(_ chunk: SCTPChunk, at now: Instant) {
        switch chunk {
        case .initiateAck(let value): initiated(value, at: now)
        case .cookieEcho(let cookie): cookieEchoed(cookie, at: now)
        case .cookieAck: if state == .cookieEchoed { establish(at: now) }
        case .abort: finish(.failed("the data channel peer aborted"))
        case .shutdown(let tsn):
            guard state == .established || state == .shutdownSent else { return }
            acknowledge(SCTPSack(cumulative: tsn, window: UInt32(clamping: peerWindow), gaps: [], duplicates: []), at: now)
            emit([.shutdownAck])
            finish(.closed)
        case .shutdownAck:
            emit([.shutdownComplete])
            finish(.closed)
        case .shutdownComplete: finish(.closed)
        case .heartbeat(let info):
            // What does not fit into a packet of ours is none that a path of WebRTC carries.
            if info.count + 16 <= configuration.packetSize { control.append(.heartbeatAck(info)) }
        case .heartbeatAck: errors = 0
        case .initiate, .other: break
        case .data, .sack, .forwardTSN, .reconfig:
            // Data may overtake the COOKIE ACK.
            if state == .cookieEchoed, peerTag != 0 { establish(at: now) }
            guard state == .established || state == .shutdownSent else { return }
            switch chunk {
            case .data(let data): receive(data, at: now)
            case .sack(let sack): acknowledge(sack, at: now)
            case .forwardTSN(let tsn, let skips): forward(to: tsn, skips, at: now)
            case .reconfig(let parameters): for parameter in parameters { reconfigure(parameter) }
            default: break
            }
        }
    }

    // MARK: - Handshake

    private func answer(_ value: SCTPInit) {
        var cookie: [UInt8] = []
        cookie.append32(value.tag)
        cookie.append32(value.window)
        cookie.append32(value.tsn)
        cookie.append(value.forwardTSN ? 1 : 0)
        let reply = SCTPInit(
            tag: localTag, window: UInt32(configuration.receiveWindow), outbound: configuration.streams,
            inbound: configuration.streams, tsn: initialTSN, cookie: cookie)
        packets.append(packet(tag: value.tag, [.initiateAck(reply)]))
    }

    private func initiated(_ value: SCTPInit, at now: Instant) {
        guard state == .cookieWait, let cookie = value.cookie, cookie.count <= Self.largestCookie, value.tag != 0 else { return }
        adopt(tag: value.tag, window: value.window, tsn: value.tsn, forwards: value.forwardTSN)
        peerCookie = cookie
        state = .cookieEchoed
        attempts = 0
        sendHandshake(at: now)
    }

    private func cookieEchoed(_ cookie: [UInt8], at now: Instant) {
        var reader = ByteReader(cookie.span)
        guard let tag = try? reader.readUInt32(), let window = try? reader.readUInt32(), let tsn = try? reader.readUInt32(),
            let forwards = try? reader.readUInt8()
        else { return }
        switch state {
        case .idle, .cookieWait, .cookieEchoed:
            adopt(tag: tag, window: window, tsn: tsn, forwards: forwards == 1)
            emit([.cookieAck])
            establish(at: now)
        case .established where tag == peerTag: emit([.cookieAck])
        case .established: finish(.failed("the data channel peer started anew"))
        case .shutdownSent, .closed: break
        }
    }

    private func adopt(tag: UInt32, window: UInt32, tsn: UInt32, forwards: Bool) {
        peerTag = tag
        peerWindow = Int(window)
        numbers = SCTPReceivedNumbers(cumulative: tsn &- 1)
        peerRequest = tsn
        peerForwards = forwards
    }

    private func establish(at now: Instant) {
        state = .established
        handshakeAt = nil
        errors = 0
        slowStartThreshold = max(peerWindow, 4 * configuration.packetSize)
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
        handshakeAt = now + min(Self.longestTimeout, .seconds(1) * (1 << min(attempts, 4)))
    }

    // MARK: - Time

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
        if let due = sackAt, due <= now { sackNow = true }
        if let due = deliverAt, due <= now { deliver(at: now) }
        if let due = dataAt, due <= now { timedOut(at: now) }
        if let due = resetAt, due <= now {
            resetAt = nil
            failed()
            sendReset(at: now)
        }
        if let due = heartbeatAt, due <= now {
            failed()
            var info: [UInt8] = []
            SCTPChunk.append(1, [UInt8](repeating: 0, count: 8), to: &info)
            control.append(.heartbeat(info))
            heartbeatAt = now + Self.heartbeatInterval
        }
        if let due = shutdownAt, due <= now {
            failed()
            emit([.shutdown(numbers.cumulative)])
            shutdownAt = now + retransmissionTimeout
        }
        flush(at: now)
    }

    /// One more silence; ten in a row are the end.
    func failed() {
        errors += 1
        if errors > Self.largestErrors { finish(.failed("the data channel peer has gone silent")) }
    }

    /// Ends politely once all is acknowledged.
    func shutdown(at now: Instant) {
        guard state == .established else {
            finish(.closed)
            return
        }
        state = .shutdownSent
        emit([.shutdown(numbers.cumulative)])
        shutdownAt = now + retransmissionTimeout
    }

    /// Ends at once and tells the peer.
    func abort() {
        guard state != .closed else { return }
        if peerTag != 0 { emit([.abort([])]) }
        finish(.closed)
    }

    /// The same for what the peer did wrong: a protocol violation (RFC 9260 §3.3.10.13).
    func abort(_ reason: String) {
        emit([.abort([0, 13, 0, 4])])
        finish(.failed(reason))
    }

    func finish(_ event: SCTPEvent) {
        guard state != .closed else { return }
        state = .closed
        (handshakeAt, dataAt, sackAt, resetAt, heartbeatAt, shutdownAt) = (nil, nil, nil, nil, nil, nil)
        (deliverAt, expiryAt) = (nil, nil)
        pending.removeAll()
        outstanding.removeAll()
        unfinished = [:]
        (flight, waiting, buffered) = (0, 0, 0)
        reassembly.removeAll()
        control = []
        events.append(event)
    }

    // MARK: - Output

    func packet(tag: UInt32, _ chunks: [SCTPChunk]) -> [UInt8] {
        SCTPPacket(source: configuration.localPort, destination: configuration.remotePort, tag: tag, chunks: chunks).encoded()
    }

    func emit(_ chunks: [SCTPChunk]) {
        packets.append(packet(tag: peerTag, chunks))
    }
}
