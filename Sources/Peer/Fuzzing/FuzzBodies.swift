import Basics

/// One body for each parser of outside bytes: whatever comes in, it returns. A trap is the failure.
enum FuzzBodies {
    static func sessionDescription(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let offer = try? SessionDescription(parsing: text) else { return }
        _ = try? SessionDescription(parsing: offer.description)
        for isLite in [true, false] {
            var negotiation = Negotiation(
                configuration: NegotiationConfiguration(
                    fingerprint: Fingerprint(algorithm: "sha-256", bytes: Array(0..<32)), isIceLite: isLite, candidates: [],
                    audioSSRC: 1, videoSSRC: 2, videoRTXSSRC: 3, cname: "fuzz"))
            if let (answer, session) = try? negotiation.answer(offer, newCredentials: .random()) {
                _ = answer.description
                var receiver = MediaReceiver(VideoReceiveConfiguration())
                receiver.configure(session, at: .zero)
                _ = try? negotiation.answer(offer, newCredentials: .random())
            }
            _ = negotiation.makeOffer(iceRestart: nil)
            _ = try? negotiation.accept(answer: offer)
        }
    }

    static func candidate(_ bytes: [UInt8]) {
        guard let candidate = Candidate(parsing: String(decoding: bytes, as: UTF8.self)) else { return }
        _ = Candidate(parsing: candidate.description)
    }

    static func stun(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { raw in
            _ = DatagramKind(raw)
            guard let message = STUNMessage(parsing: raw) else { return }
            _ = message.isAuthentic(raw, password: "a password of enough letters")
            _ = message.encoded(password: "a password of enough letters")
        }
    }

    static func rtp(_ bytes: [UInt8]) {
        guard let header = try? RTPHeader(parsing: bytes.span) else { return }
        for id in UInt8.min...UInt8.max { _ = header.extensionElement(id, in: bytes.span) }
        _ = header.extension16(3, in: bytes.span)
        _ = header.extension8(1, in: bytes.span)
        _ = RetransmittedPayload(header: header, in: bytes.span)
    }

    /// The blocks lie inside of the payload, and playout takes whatever they hold.
    static func redundantSound(_ bytes: [UInt8]) {
        guard let parsed = RedundantAudio(parsing: bytes.span) else { return }
        var buffer = AudioReceiveBuffer()
        for (index, block) in parsed.blocks.enumerated() {
            let isCopy = index < parsed.blocks.count - 1
            buffer.insert(
                ReceivedAudioPacket(
                    payload: Array(bytes[block.range]), sequence: Int64(index), timestamp: Int64(-block.timestampOffset), captureTime: .zero,
                    arrival: .zero, isCopy: isCopy))
            _ = buffer.next(at: .zero + .milliseconds(40), pcmBuffered: 0)
        }
    }

    static func rtcp(_ bytes: [UInt8]) {
        var reader = RTCPReader(bytes.span)
        var copy: [UInt8] = []
        while let packet = reader.next() {
            if case .transportFeedback(let feedback) = packet {
                feedback.forEachStatus { _, _ in }
                _ = ArrivalReport(feedback)
            }
            _ = packet.work
            if case .nack(let nack) = packet { _ = nack.missing }
            packet.encode(into: &copy)
        }
    }

    /// Payloads of one access unit, each damaged or not.
    static func frames(_ payloads: [[UInt8]]) {
        var h264 = H264Depacketizer()
        var vp8 = VP8Depacketizer()
        for payload in payloads {
            _ = H264Depacketizer.peek(payload.span)
            _ = VP8Descriptor.parse(payload.span)
            _ = h264.assemble([payload], timestamp: 0)
            _ = vp8.assemble([payload], timestamp: 0)
        }
        _ = h264.assemble(payloads, timestamp: 0)
        _ = vp8.assemble(payloads, timestamp: 0)
    }

    /// A chunk list in a packet that the association believes to be its peer's.
    static func sctp(_ chunks: [UInt8], into association: SCTPAssociation, at now: Instant) {
        var packet = [UInt8]()
        packet.append16(association.configuration.remotePort)
        packet.append16(association.configuration.localPort)
        packet.append32(association.localTag)
        packet.append32(0)
        packet += chunks
        let sum = CRC32C.checksum(packet)
        for index in 0..<4 { packet[8 + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
        association.receive(packet, at: now)
        association.advance(to: now)
        _ = association.nextDeadline
    }

    static func dtls(_ datagram: [UInt8], into transport: DTLSTransport, at now: Instant) {
        datagram.withUnsafeBytes { transport.receive($0, at: now) }
        transport.advance(to: now)
        while transport.nextTransmit() != nil {}
        while transport.nextEvent() != nil {}
        _ = transport.nextDeadline
    }

    /// What an authentic but hostile peer says: behind decryption.
    static func plain(_ bytes: [UInt8], into peer: PeerConnection, at now: Instant, keepingEvents: Bool = false) {
        bytes.withUnsafeBytes { raw in
            switch DatagramKind(raw) {
            case .rtcp: peer.receiveReports(raw, at: now)
            default: peer.receiveMedia(raw, at: now)
            }
        }
        peer.drain(at: now)
        peer.advance(to: now)
        guard !keepingEvents else { return }
        while peer.nextEvent() != nil {}
        peer.flush { _, _ in }
        _ = peer.statistics(at: now)
    }
}
