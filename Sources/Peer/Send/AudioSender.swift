import Basics

/// The payload types of the audio that a peer accepts.
struct OutgoingAudio: Sendable, Equatable {
    var payloadType: UInt8
    /// For packets that repeat the previous one (RFC 2198); nil if the peer accepts none.
    var redundantPayloadType: UInt8?
}

/// One peer's audio: it is sent at once, without the pacer.
struct AudioSender: Sendable {
    /// The payload that fits beside headers and SRTP's tag into a packet that passes every path (1200 bytes of UDP
    /// payload).
    private static let maximumPayload = 1100

    var stream: OutgoingStream
    /// Whether each packet repeats the previous one, if the peer accepts that.
    var repeats = false
    private var format: OutgoingAudio?
    private var extensions = OutgoingExtensions()
    /// The last packet, for the next one to repeat.
    private var last: (payload: [UInt8], timestamp: Int64)?

    init(stream: OutgoingStream) {
        self.stream = stream
    }

    mutating func configure(_ format: OutgoingAudio?, extensions: OutgoingExtensions) {
        self.format = format
        self.extensions = extensions
    }

    var isConfigured: Bool { format != nil }
    var canRepeat: Bool { format?.redundantPayloadType != nil }

    /// - Parameters:
    ///   - timestamp: room time in 48 kHz.
    /// - number: the transport-wide number of the packet, if such numbers were negotiated.
    mutating func write(
        _ payload: [UInt8], timestamp: Int64, marker: Bool, level: UInt8?, as number: SequenceNumber,
        into buffer: UnsafeMutableRawBufferPointer, at now: Instant
    ) -> SentPacket? {
        guard let format else { return nil }
        let copy = copy(beside: payload, at: timestamp, format)
        last = repeats ? (payload, timestamp) : nil
        let transport = extensions.transportCC == nil ? nil : number
        var writer = RTPPacketWriter(
            buffer, marker: marker, payloadType: copy?.payloadType ?? format.payloadType,
            sequence: stream.takeSequence(),
            timestamp: stream.timestamp(timestamp), ssrc: stream.ssrc, twoByteExtensions: extensions.needsTwoBytes)
        extensions.write(
            into: &writer, transportSequence: transport, sendTime: OutgoingExtensions.absoluteSendTime(now),
            level: level)
        var payloadBytes = payload.count
        payload.withUnsafeBytes { newest in
            guard let copy else { return writer.append(newest) }
            copy.payload.withUnsafeBytes {
                RedundantAudio.write(
                    copy: $0, age: copy.age, newest: newest, payloadType: format.payloadType, into: &writer)
            }
            payloadBytes += copy.payload.count + RedundantAudio.headerSize
            stream.counters.repeatedPackets += 1
        }
        guard let length = writer.finish() else { return nil }
        stream.counters.packets += 1
        stream.counters.frames += 1
        stream.counters.bytes += length
        stream.counters.payloadBytes += payloadBytes
        stream.meter.add(length, at: now)
        return SentPacket(length: length, numbering: transport == nil ? .unnumbered : .numbered)
    }

    /// The previous packet, if this one can carry it: not after a long pause, nor if both together would be too large.
    private func copy(
        beside payload: [UInt8], at timestamp: Int64, _ format: OutgoingAudio
    ) -> (payload: [UInt8], age: Int64, payloadType: UInt8)? {
        guard repeats, let payloadType = format.redundantPayloadType, let last else { return nil }
        let age = timestamp &- last.timestamp
        guard RedundantAudio.canCarry(last.payload.count, age: age),
            last.payload.count + payload.count <= Self.maximumPayload
        else { return nil }
        return (last.payload, age, payloadType)
    }
}
