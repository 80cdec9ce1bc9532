import Basics
import Peer
import Threads

/// A peer that joins correctly and then sends an attack's packets: it has a path and keys, and no protocol above them.
/// Used by one thread at a time.
///
/// Its packets are authentic, with the content of the attack. It answers only what keeps the connection alive.
final class HostilePeer {
    /// One certificate for all hostile peers, because generating keys is slow and the server does not compare them.
    static let identity = Result { try DTLSIdentity.generate() }

    let offer: HostileOffer
    let answer: HostileAnswer
    let socket: DatagramSocket
    let server: SocketAddress
    private var ice: ICEAgent
    private let dtls: DTLSTransport
    private var srtp: SRTPContext?
    private var keys: SRTPKeys?
    private(set) var isConnected = false
    /// Why the peer ended; nil while it is connected.
    private(set) var end: String?
    /// Called with the SCTP packets from DTLS records.
    var onApplication: ([UInt8]) -> Void = { _ in }
    /// Called with the headers of the server's decrypted RTP packets: sequence number, SSRC, and the transport-wide
    /// number if there is one.
    var onMedia: ((_ sequence: UInt16, _ ssrc: UInt32, _ transport: UInt16?) -> Void)?
    /// The number of datagrams from the server.
    private(set) var received = 0
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    private var sequences: [UInt32: UInt16] = [:]

    /// - Parameter exchange: sends the offer to the server and returns its answer.
    init(
        from source: IPAddress, shape: (inout HostileOffer) -> Void = { _ in },
        exchange: (String) throws(WireError) -> String
    ) throws(WireError) {
        let now = MonotonicClock.now()
        let identity: DTLSIdentity
        do { identity = try Self.identity.get() } catch { throw WireError("\(error)") }
        var offer = HostileOffer(identity)
        shape(&offer)
        socket = try DatagramSocket(binding: source)
        answer = try HostileAnswer(parsing: try exchange(offer.text))
        self.offer = offer
        guard let server = answer.candidate.socketAddress else { throw WireError("no candidate") }
        self.server = server
        ice = ICEAgent(mode: .controlling, local: offer.ice, localAddresses: [socket.address], at: now)
        ice.setRemote(answer.ice, candidates: [answer.candidate], at: now)
        do {
            dtls = try DTLSTransport(role: answer.isPassive ? .client : .server, identity: identity, at: now)
        } catch {
            throw WireError("\(error)")
        }
        dtls.setRemoteFingerprints([answer.fingerprint])
    }

    deinit { scratch.deallocate() }

    // MARK: - Running

    /// Establishes the path and the keys.
    func connect(within limit: Duration = .seconds(5)) throws(WireError) {
        let deadline = MonotonicClock.now() + limit
        while !isConnected {
            let now = MonotonicClock.now()
            guard end == nil, now < deadline else {
                throw WireError("not connected: \(end ?? "no answer within \(limit.inSeconds) s")")
            }
            step(at: now)
            socket.wait(.milliseconds(5))
        }
    }

    /// Handles received datagrams, keeps the path alive and continues the handshake.
    func step(at now: Instant) {
        socket.receive { datagram, remote in
            received += 1
            take(datagram, from: remote, at: now)
        }
        ice.advance(to: now)
        dtls.advance(to: now)
        drain(at: now)
    }

    /// Calls `body` at intervals until `end`, and keeps the peer alive in between.
    func run(until end: Instant, every interval: Duration, _ body: (Instant) throws(WireError) -> Void)
        throws(WireError)
    {
        var next = MonotonicClock.now()
        while true {
            let now = MonotonicClock.now()
            guard now < end, self.end == nil else { return }
            step(at: now)
            if now >= next {
                try body(now)
                next += interval
                // Calls that the machine was too busy for are skipped.
                if now - next > .milliseconds(200) { next = now + interval }
            }
            socket.wait(min(max(next - MonotonicClock.now(), .zero), .milliseconds(20)))
        }
    }

    private func take(_ datagram: UnsafeMutableRawBufferPointer, from remote: SocketAddress, at now: Instant) {
        let bytes = UnsafeRawBufferPointer(datagram)
        let flow = Flow(.udp, local: socket.address, remote: remote)
        switch DatagramKind(bytes) {
        case .stun: ice.handle(stun: bytes, flow: flow, at: now)
        case .dtls: dtls.receive(bytes, at: now)
        case .rtp:
            guard let onMedia, let srtp, let length = try? srtp.unprotectRTP(datagram, length: datagram.count),
                let header = try? RTPHeader(
                    parsing: UnsafeRawBufferPointer(rebasing: bytes[..<length]).bindMemory(to: UInt8.self).span)
            else { return }
            let span = UnsafeRawBufferPointer(rebasing: bytes[..<length]).bindMemory(to: UInt8.self).span
            onMedia(header.sequence.rawValue, header.ssrc.rawValue, header.extension16(3, in: span))
        default: break
        }
    }

    private func drain(at now: Instant) {
        while let event = ice.nextEvent() {
            switch event {
            case .selected: dtls.start(at: now)
            case .expired: end = end ?? "the server did not answer any more"
            default: break
            }
        }
        while let (bytes, _) = ice.nextTransmit() { socket.send(bytes, to: server) }
        while let event = dtls.nextEvent() {
            switch event {
            case .connected(let keys):
                self.keys = keys
                srtp = try? SRTPContext(keys)
                isConnected = srtp != nil
            case .data(let bytes): onApplication(bytes)
            case .closed: end = end ?? "the server closed"
            case .failed(let reason): end = end ?? reason
            }
        }
        while let bytes = dtls.nextTransmit() { socket.send(bytes, to: server) }
    }

    // MARK: - Sending

    /// Encrypts and sends an RTP packet.
    func send(rtp packet: [UInt8]) {
        send(packet) { srtp, buffer, length in try? srtp.protectRTP(buffer, length: length) }
    }
    /// Encrypts and sends a compound RTCP packet.
    func send(rtcp packet: [UInt8]) {
        send(packet) { srtp, buffer, length in try? srtp.protectRTCP(buffer, length: length) }
    }

    /// Encrypts a compound RTCP packet, to be sent from any address.
    func protected(rtcp packet: [UInt8]) -> [UInt8] {
        guard let srtp, packet.count + SRTPContext.maximumOverhead <= scratch.count else { return [] }
        scratch.copyBytes(from: packet)
        return (try? srtp.protectRTCP(scratch, length: packet.count)).map { Array(scratch[..<$0]) } ?? []
    }

    private func send(_ packet: [UInt8], _ protect: (SRTPContext, UnsafeMutableRawBufferPointer, Int) -> Int?) {
        guard let srtp, packet.count + SRTPContext.maximumOverhead <= scratch.count else { return }
        scratch.copyBytes(from: packet)
        guard let length = protect(srtp, scratch, packet.count) else { return }
        socket.send(UnsafeRawBufferPointer(rebasing: scratch[..<length]), to: server)
    }

    /// Clears the windows of all streams, which would grow with a flood of SSRCs.
    func forgetStreams() { srtp = keys.flatMap { try? SRTPContext($0) } }

    /// Sends an RTP packet with the next sequence number of its stream.
    func send(payload: [UInt8], type: UInt8, ssrc: UInt32, timestamp: UInt32, marker: Bool = false) {
        let sequence = sequences[ssrc] ?? UInt16.random(in: 0..<0x4000)
        sequences[ssrc] = sequence &+ 1
        send(
            rtp: Self.packet(payload, type: type, ssrc: ssrc, sequence: sequence, timestamp: timestamp, marker: marker))
    }

    static func packet(
        _ payload: [UInt8], type: UInt8, ssrc: UInt32, sequence: UInt16, timestamp: UInt32, marker: Bool = false
    ) -> [UInt8] {
        var bytes: [UInt8] = [0x80, (marker ? 0x80 : 0) | type]
        bytes.append16(sequence)
        bytes.append32(timestamp)
        bytes.append32(ssrc)
        return bytes + payload
    }

    /// Sends one DTLS record of application data, which is an SCTP packet or any other bytes.
    func send(application bytes: [UInt8]) {
        dtls.send(bytes)
        while let datagram = dtls.nextTransmit() { socket.send(datagram, to: server) }
    }

    /// An authenticated check of this peer, to be sent from any address.
    func check(nominating: Bool = true) -> [UInt8] {
        var request = STUNMessage(
            .request, transaction: .init(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)))
        request.username = "\(answer.ice.ufrag):\(offer.ice.ufrag)"
        request.priority = 0x6E7F_FFFF
        request.iceControlling = 1
        request.useCandidate = nominating
        return request.encoded(password: answer.ice.password)
    }
}
