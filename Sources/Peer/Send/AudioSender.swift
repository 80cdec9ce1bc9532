import Basics

/// The payload types of the audio that a peer accepts.
struct OutgoingAudio: Sendable, Equatable {
    var payloadType: UInt8
    /// For packets that carry earlier ones (RFC 2198); nil if the peer accepts none.
    var redundantPayloadType: UInt8?
}

/// One peer's audio: it is sent at once, without the pacer.
struct AudioSender: Sendable {
    /// The payload that fits beside headers and SRTP's tag into a packet that passes every path (1200 bytes of UDP
    /// payload).
    private static let maximumPayload = 1100

    var stream: OutgoingStream
    /// Copies are left out where the peer accepts none.
    var repetition = AudioRepetition.none { didSet { distances = repetition.distances } }
    private var distances: [Int] = []
    private var format: OutgoingAudio?
    private var extensions = OutgoingExtensions()
    /// The payloads that later packets carry again, the oldest first.
    private var earlier: [(payload: [UInt8], timestamp: Int64)] = []
    /// The packets that go out again: the last one, and the one before, which is due.
    private var last: WrittenPacket?
    private var due: WrittenPacket?

    private struct WrittenPacket {
        /// Without SRTP.
        var bytes: [UInt8]
        var number: SequenceNumber?
    }

    init(stream: OutgoingStream) {
        self.stream = stream
    }

    mutating func configure(_ format: OutgoingAudio?, extensions: OutgoingExtensions) {
        self.format = format
        self.extensions = extensions
    }

    var isConfigured: Bool { format != nil }
    var takesCopies: Bool { format?.redundantPayloadType != nil }

    /// - Parameters:
    ///   - timestamp: room time in 48 kHz.
    /// - number: the transport-wide number of the packet, if such numbers were negotiated.
    mutating func write(
        _ payload: [UInt8], timestamp: Int64, marker: Bool, level: UInt8?, as number: SequenceNumber,
        into buffer: UnsafeMutableRawBufferPointer, at now: Instant
    ) -> SentPacket? {
        guard let format else { return nil }
        let copies = copies(beside: payload, at: timestamp, format)
        keep(payload, at: timestamp)
        let transport = extensions.transportCC == nil ? nil : number
        var writer = RTPPacketWriter(
            buffer, marker: marker,
            payloadType: copies.isEmpty ? format.payloadType : format.redundantPayloadType ?? format.payloadType,
            sequence: stream.takeSequence(),
            timestamp: stream.timestamp(timestamp), ssrc: stream.ssrc, twoByteExtensions: extensions.needsTwoBytes)
        extensions.write(
            into: &writer, transportSequence: transport, sendTime: OutgoingExtensions.absoluteSendTime(now),
            level: level)
        var payloadBytes = payload.count
        if copies.isEmpty {
            payload.withUnsafeBytes { writer.append($0) }
        } else {
            RedundantAudio.write(copies: copies, newest: payload, payloadType: format.payloadType, into: &writer)
            payloadBytes += copies.reduce(RedundantAudio.newestHeader) {
                $0 + $1.payload.count + RedundantAudio.copyHeader
            }
            stream.counters.repeatedPackets += copies.count
        }
        guard let length = writer.finish() else { return nil }
        due = last
        last = repetition == .doubled ? WrittenPacket(bytes: Array(buffer[..<length]), number: transport) : nil
        stream.counters.packets += 1
        stream.counters.frames += 1
        count(length, payload: payloadBytes, at: now)
        return SentPacket(length: length, numbering: transport == nil ? .unnumbered : .numbered)
    }

    /// Writes the packet before the last one again, once, with the bytes that it had.
    mutating func writeAgain(into buffer: UnsafeMutableRawBufferPointer, at now: Instant) -> SentPacket? {
        guard let packet = due.take(), packet.bytes.count + SRTPContext.maximumOverhead <= buffer.count else {
            return nil
        }
        buffer.copyBytes(from: packet.bytes)
        stream.counters.repeatedPackets += 1
        count(packet.bytes.count, payload: 0, at: now)
        return SentPacket(length: packet.bytes.count, numbering: .repeated(packet.number))
    }

    private mutating func count(_ length: Int, payload: Int, at now: Instant) {
        stream.counters.bytes += length
        stream.counters.payloadBytes += payload
        stream.meter.add(length, at: now)
    }

    private mutating func keep(_ payload: [UInt8], at timestamp: Int64) {
        guard let farthest = distances.last else {
            if !earlier.isEmpty { earlier.removeAll() }
            return
        }
        earlier.append((payload, timestamp))
        if earlier.count > farthest { earlier.removeFirst(earlier.count - farthest) }
    }

    /// The earlier packets that this one can carry: none from before a long pause, and the nearest first where all
    /// together would be too large.
    private func copies(beside payload: [UInt8], at timestamp: Int64, _ format: OutgoingAudio) -> [RedundantAudio.Copy]
    {
        guard format.redundantPayloadType != nil else { return [] }
        var copies: [RedundantAudio.Copy] = []
        var size = payload.count
        for distance in distances where distance <= earlier.count {
            let packet = earlier[earlier.count - distance]
            let age = timestamp &- packet.timestamp
            size += packet.payload.count
            guard RedundantAudio.canCarry(packet.payload.count, age: age), size <= Self.maximumPayload else { break }
            copies.append(RedundantAudio.Copy(payload: packet.payload, age: age))
        }
        return copies.reversed()
    }
}
