import Basics

/// One peer's audio: goes out at once, the pacer does not hold it.
struct AudioSender: Sendable {
    var stream: OutgoingStream
    private var payloadType: UInt8?
    private var extensions = OutgoingExtensions()

    init(stream: OutgoingStream) {
        self.stream = stream
    }

    mutating func configure(payloadType: UInt8?, extensions: OutgoingExtensions) {
        self.payloadType = payloadType
        self.extensions = extensions
    }

    var isConfigured: Bool { payloadType != nil }

    /// - Parameter timestamp: room time in 48 kHz.
    mutating func write(
        _ payload: UnsafeRawBufferPointer, timestamp: Int64, marker: Bool, level: UInt8?, into buffer: UnsafeMutableRawBufferPointer,
        estimator: inout BandwidthEstimator, at now: Instant
    ) -> Int? {
        guard let payloadType else { return nil }
        let transport = extensions.transportCC == nil ? nil : estimator.nextSequence
        var writer = RTPPacketWriter(
            buffer, marker: marker, payloadType: payloadType, sequence: stream.takeSequence(), timestamp: stream.timestamp(timestamp),
            ssrc: stream.ssrc, twoByteExtensions: extensions.needsTwoBytes)
        extensions.write(
            into: &writer, transportSequence: transport, sendTime: OutgoingExtensions.absoluteSendTime(now), level: level)
        writer.append(payload)
        guard let length = writer.finish() else { return nil }
        if transport != nil {
            _ = estimator.packetSent(size: length + MediaSender.wireOverhead, cluster: nil, at: now)
        } else {
            estimator.packetSent(unnumbered: length + MediaSender.wireOverhead, at: now)
        }
        stream.counters.packets += 1
        stream.counters.frames += 1
        stream.counters.bytes += length
        stream.counters.payloadBytes += payload.count
        stream.meter.add(length, at: now)
        return length
    }
}
