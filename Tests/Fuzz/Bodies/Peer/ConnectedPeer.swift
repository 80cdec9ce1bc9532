import Basics
import Fuzzing
import Simulation

@testable import Peer

/// A connection of the server after a real handshake, whose far end is controlled by a script: with its keys, its
/// certificate and all numbers that the server has sent.
final class ConnectedPeer {
    /// The offers from which a script may choose; nil is that of our own client.
    static let offers = [
        nil, "chromium156-av-data", "firefox153-av-data", "chromium156-av-simulcast", "aiortc1.16-av-data-all-codecs",
        "gst-webrtcbin1.22-av-h264",
    ]

    let server: PeerConnection
    let srtp: SRTPContext
    let dtls: DTLSTransport
    private(set) var now: Instant
    /// The last answered offer.
    private(set) var offer: String
    private(set) var channels: SCTPScript?
    private var verificationTag: UInt32 = 0
    /// The highest RTP sequence number of each SSRC that the server sent.
    private(set) var sent: [UInt32: UInt16] = [:]
    private(set) var packetsSent = 0
    /// The server's STUN requests to the far end, with their flows.
    private(set) var checks: [(id: STUNMessage.TransactionID, flow: Flow)] = []
    private(set) var wantsKeyframe = true
    private(set) var channelIDs: [ChannelID] = []

    /// - Parameter choice: the index of one of `offers`.
    init?(choice: Int) {
        guard let ours = try? Identities.ours.get(), let theirs = try? Identities.theirs.get(),
            let offer = Self.offer(choice, of: theirs)
        else {
            return nil
        }
        self.offer = offer
        var now = Instant(nanoseconds: 1_000_000_000_000)
        var configuration = PeerConfiguration(role: .server)
        configuration.candidates = [.host(STUNBody.flow(0).local)]
        configuration.seed = 1
        guard let server = try? PeerConnection(configuration, identity: ours, at: now) else { return nil }
        guard (try? server.answer(offer, at: now)) != nil, let session = server.negotiated else { return nil }
        self.server = server
        guard
            let transport = try? DTLSTransport(
                role: session.dtlsRole == .server ? .client : .server, identity: theirs, at: now)
        else { return nil }
        dtls = transport
        dtls.setRemoteFingerprints([ours.fingerprint])

        guard let keys = Self.handshake(server, transport, session, at: &now) else { return nil }
        guard let srtp = try? SRTPContext(keys) else { return nil }
        self.srtp = srtp
        self.now = now
        var work = Work(WorkLimits())
        settle(&work)
    }

    /// Completes ICE, then DTLS, without delay.
    private static func handshake(
        _ server: PeerConnection, _ transport: DTLSTransport, _ session: NegotiatedSession, at time: inout Instant
    )
        -> SRTPKeys?
    {
        var now = time
        defer { time = now }
        var check = STUNMessage(.request, transaction: STUNMessage.TransactionID(high: 1, low: 1))
        check.username = "\(session.localIce.ufrag):\(credentials.ufrag)"
        check.priority = 1
        check.iceControlling = 1
        check.useCandidate = true
        var bytes = check.encoded(password: session.localIce.password)
        bytes.withUnsafeMutableBytes { server.receive($0, flow: STUNBody.flow(0), at: now) }
        transport.start(at: now)
        var keys: SRTPKeys?
        for _ in 0..<20 where !server.isConnected || keys == nil {
            while var bytes = transport.nextTransmit() {
                bytes.withUnsafeMutableBytes { server.receive($0, flow: STUNBody.flow(0), at: now) }
            }
            server.flush { bytes, _ in if DatagramKind(bytes) == .dtls { transport.receive(bytes, at: now) } }
            while case .connected(let made)? = transport.nextEvent() { keys = made }
            now += .milliseconds(10)
            server.advance(to: now)
            transport.advance(to: now)
        }
        return server.isConnected ? keys : nil
    }

    static let credentials = ICECredentials(ufrag: "their", password: "anotherPasswordOfEnoughLetters")

    /// The offer with the script's certificate and credentials.
    private static func offer(_ choice: Int, of identity: DTLSIdentity) -> String? {
        var text = ""
        if let name = offers[choice % offers.count], let fixture = Offers.text(name) {
            text = fixture
        } else {
            var configuration = PeerConfiguration(role: .client)
            configuration.localAddresses = [STUNBody.flow(0).remote]
            configuration.seed = 2
            guard let client = try? PeerConnection(configuration, identity: identity, at: .zero) else { return nil }
            text = client.makeOffer(at: .zero)
        }
        return rewrite(text, certificate: identity.fingerprint.description)
    }

    private static func rewrite(_ text: String, certificate: String) -> String {
        text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("a=candidate:") }.map { line in
            if line.hasPrefix("a=fingerprint:") { return "a=fingerprint:\(certificate)\n" }
            if line.hasPrefix("a=ice-ufrag:") { return "a=ice-ufrag:\(credentials.ufrag)\n" }
            if line.hasPrefix("a=ice-pwd:") { return "a=ice-pwd:\(credentials.password)\n" }
            return line + "\n"
        }.joined()
    }

    // MARK: - Input from the far end

    /// Passes in an unchanged datagram.
    func receive(_ bytes: [UInt8], on flow: Flow, _ work: inout Work) {
        work.step(bytes: bytes.count)
        var bytes = bytes
        bytes.withUnsafeMutableBytes { server.receive($0, flow: flow, at: now) }
    }

    /// An RTP packet, encrypted. What cannot be encrypted comes in behind the decryption.
    func receive(rtp packet: [UInt8], on flow: Flow = STUNBody.flow(0), _ work: inout Work) {
        var bytes = packet + [UInt8](repeating: 0, count: SRTPContext.maximumOverhead)
        let length = bytes.withUnsafeMutableBytes { try? srtp.protectRTP($0, length: packet.count) }
        if let length { return receive(Array(bytes[..<length]), on: flow, &work) }
        work.step(bytes: packet.count)
        packet.withUnsafeBytes { server.receiveMedia($0, at: now) }
    }

    /// Passes in an encrypted RTCP compound.
    func receive(rtcp packet: [UInt8], _ work: inout Work) {
        var bytes = packet + [UInt8](repeating: 0, count: SRTPContext.maximumOverhead)
        let length = bytes.withUnsafeMutableBytes { try? srtp.protectRTCP($0, length: packet.count) }
        if let length { return receive(Array(bytes[..<length]), on: STUNBody.flow(0), &work) }
        work.step(bytes: packet.count)
        packet.withUnsafeBytes { server.receiveReports($0, at: now) }
    }

    /// Passes in SCTP chunks with the right header, inside DTLS.
    func receive(sctp chunks: [UInt8], _ work: inout Work) {
        dtls.send(SCTPBody.packet(chunks, source: 5000, destination: 5000, tag: verificationTag))
        while let bytes = dtls.nextTransmit() { receive(bytes, on: STUNBody.flow(0), &work) }
    }

    /// The script's association; nil before the server's INIT.
    func withChannels(_ body: (inout SCTPScript) -> [[UInt8]], _ work: inout Work) {
        guard var script = channels else { return }
        let packets = body(&script)
        channels = script
        for packet in packets { receive(sctp: packet, &work) }
    }

    /// Passes in another offer of the far end.
    func answer(_ offer: String, _ work: inout Work) {
        // A description costs more than a datagram of its length.
        work.step(bytes: offer.utf8.count, 100)
        if (try? server.answer(offer, at: now)) != nil { self.offer = offer }
    }

    // MARK: - Time

    /// Advances the time from deadline to deadline, as a loop does.
    func wait(_ duration: Duration, _ work: inout Work) {
        let end = now + duration
        for _ in 0..<400 {
            guard let deadline = server.nextDeadline(after: now), deadline < end else { break }
            now = max(deadline, now + .microseconds(100))
            work.step()
            server.advance(to: now)
            settle(&work)
        }
        now = max(now, end)
        server.advance(to: now)
        settle(&work)
    }

    /// Takes out the server's datagrams, and reads the server's numbers from them.
    func settle(_ work: inout Work) {
        while let event = server.nextEvent() {
            work.step()
            switch event {
            case .keyframeRequested: wantsKeyframe = true
            case .channelOpened(let id, _, _): if channelIDs.count < 16 { channelIDs.append(id) }
            default: break
            }
        }
        server.flush { bytes, flow in
            work.step(bytes: bytes.count)
            switch DatagramKind(bytes) {
            case .rtp where bytes.count >= 12:
                packetsSent += 1
                sent[bytes[8..<12].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }] =
                    UInt16(bytes[2]) << 8 | UInt16(bytes[3])
            case .stun:
                if let message = STUNMessage(parsing: bytes), message.messageClass == .request, checks.count < 32 {
                    checks.append((message.transaction, flow))
                }
            case .dtls: dtls.receive(bytes, at: now)
            default: break
            }
        }
        while let event = dtls.nextEvent() { if case .data(let packet) = event { note(packet, &work) } }
    }

    private func note(_ bytes: [UInt8], _ work: inout Work) {
        guard let packet = SCTPPacket(parsing: bytes) else { return }
        channels?.note(packet)
        for case .initiate(let value) in packet.chunks where channels == nil {
            // The state cookie of the script's INIT: tag 9, a window of 1 MiB, the first TSN 100, with FORWARD-TSN.
            verificationTag = value.tag
            channels = SCTPScript(next: 100, seen: value.tsn &- 1)
            var echo: [UInt8] = []
            SCTPChunk.cookieEcho([0, 0, 0, 9, 0, 16, 0, 0, 0, 0, 0, 100, 1]).encode(into: &echo)
            receive(sctp: echo, &work)
        }
    }

    // MARK: - Output of the server

    func sendFrame(bytes size: Int, _ work: inout Work) {
        guard let codec = server.videoSendFormats.first?.codec else { return }
        work.step(bytes: size)
        let isKeyframe = wantsKeyframe
        wantsKeyframe = false
        server.send(
            SimulatedFrame.make(codec, isKeyframe: isKeyframe, bytes: size, timestamp: now.ticks(at: 90_000)), at: now)
    }

    func sendAudio(_ payload: [UInt8], _ work: inout Work) {
        work.step(bytes: payload.count)
        server.send(audio: payload, timestamp: now.ticks(at: 48_000), marker: false, level: 30, at: now)
    }
}
