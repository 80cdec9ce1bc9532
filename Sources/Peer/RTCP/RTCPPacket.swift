import Basics

/// One RTCP packet of any type that Tessera supports.
enum RTCPPacket: Sendable, Equatable {
    case senderReport(SenderReport)
    case receiverReport(ReceiverReport)
    case sourceDescription(SourceDescription)
    case goodbye(Goodbye)
    case nack(GenericNack)
    case pictureLoss(PictureLossIndication)
    case fullIntraRequest(FullIntraRequest)
    case maxBitrate(ReceiverEstimatedMaxBitrate)
    case temporaryLimit(TemporaryMaxBitrate)
    case temporaryLimitNotification(TemporaryMaxBitrate)
    case transportFeedback(TransportFeedback)
    case extendedReport(ExtendedReport)
    /// A packet of another type, which is skipped by its length.
    case unknown(type: UInt8, format: UInt8)

    /// RFC 4585 §6.1: RTPFB.
    static let transportFeedbackType: UInt8 = 205
    /// RFC 4585 §6.1: PSFB.
    static let payloadFeedbackType: UInt8 = 206

    /// Appends the packet's bytes; several packets in sequence make a compound packet.
    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .senderReport(let packet): packet.encode(into: &bytes)
        case .receiverReport(let packet): packet.encode(into: &bytes)
        case .sourceDescription(let packet): packet.encode(into: &bytes)
        case .goodbye(let packet): packet.encode(into: &bytes)
        case .nack(let packet): packet.encode(into: &bytes)
        case .pictureLoss(let packet): packet.encode(into: &bytes)
        case .fullIntraRequest(let packet): packet.encode(into: &bytes)
        case .maxBitrate(let packet): packet.encode(into: &bytes)
        case .temporaryLimit(let packet): packet.encode(format: TemporaryMaxBitrate.requestFormat, into: &bytes)
        case .temporaryLimitNotification(let packet):
            packet.encode(format: TemporaryMaxBitrate.notificationFormat, into: &bytes)
        case .transportFeedback(let packet): packet.encode(into: &bytes)
        case .extendedReport(let packet): packet.encode(into: &bytes)
        case .unknown: break
        }
    }

    static func encodeHeader(_ type: UInt8, count: Int, bodyBytes: Int, into bytes: inout [UInt8]) {
        bytes.append(0x80 | UInt8(truncatingIfNeeded: count & 31))
        bytes.append(type)
        bytes.append16(UInt16(truncatingIfNeeded: bodyBytes / 4))
    }
}

/// Parses a compound or reduced-size RTCP packet (RFC 3550 §6.1, RFC 5506) packet by packet, in any order of types.
///
/// Never fails: broken framing ends the parsing and sets `isBroken`; a packet whose body does not parse is skipped and
/// counted.
struct RTCPReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var offset = 0
    /// The lengths did not add up; the packets parsed before remain valid.
    private(set) var isBroken = false
    /// Packets with a valid length and an invalid body.
    private(set) var malformedCount = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    /// The next packet; nil at the end.
    mutating func next() -> RTCPPacket? {
        while offset < bytes.count, !isBroken {
            guard bytes.count - offset >= 4, bytes[offset] >> 6 == 2 else {
                isBroken = true
                return nil
            }
            let first = bytes[offset]
            let type = bytes[offset + 1]
            let size = 4 * (1 + (Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])))
            guard size <= bytes.count - offset else {
                isBroken = true
                return nil
            }
            var end = offset + size
            let body = offset + 4
            offset = end
            if first & 0x20 != 0 {
                // RFC 3550 §6.4.1 allows padding in the last packet only, but transport feedback may be padded at any
                // position.
                let padding = Int(bytes[end - 1])
                guard padding >= 1, padding <= end - body else {
                    malformedCount += 1
                    continue
                }
                end -= padding
            }
            var reader = ByteReader(bytes.extracting(body..<end))
            do {
                return try RTCPReader.parse(type: type, format: first & 31, &reader)
            } catch {
                malformedCount += 1
            }
        }
        return nil
    }

    private static func parse(type: UInt8, format: UInt8, _ reader: inout ByteReader) throws(ByteReader.Truncated)
        -> RTCPPacket
    {
        let count = Int(format)
        switch (type, format) {
        case (SenderReport.packetType, _): return .senderReport(try SenderReport(&reader, count: count))
        case (ReceiverReport.packetType, _): return .receiverReport(try ReceiverReport(&reader, count: count))
        case (SourceDescription.packetType, _): return .sourceDescription(try SourceDescription(&reader, count: count))
        case (Goodbye.packetType, _): return .goodbye(try Goodbye(&reader, count: count))
        case (RTCPPacket.transportFeedbackType, GenericNack.format): return .nack(try GenericNack(&reader))
        case (RTCPPacket.transportFeedbackType, TemporaryMaxBitrate.requestFormat):
            return .temporaryLimit(try TemporaryMaxBitrate(&reader))
        case (RTCPPacket.transportFeedbackType, TemporaryMaxBitrate.notificationFormat):
            return .temporaryLimitNotification(try TemporaryMaxBitrate(&reader))
        case (RTCPPacket.transportFeedbackType, TransportFeedback.format):
            return .transportFeedback(try TransportFeedback(&reader))
        case (RTCPPacket.payloadFeedbackType, PictureLossIndication.format):
            return .pictureLoss(try PictureLossIndication(&reader))
        case (RTCPPacket.payloadFeedbackType, FullIntraRequest.format):
            return .fullIntraRequest(try FullIntraRequest(&reader))
        case (RTCPPacket.payloadFeedbackType, ReceiverEstimatedMaxBitrate.format):
            guard let packet = try ReceiverEstimatedMaxBitrate(&reader) else {
                return .unknown(type: type, format: format)
            }
            return .maxBitrate(packet)
        case (ExtendedReport.packetType, _): return .extendedReport(try ExtendedReport(&reader))
        default: return .unknown(type: type, format: format)
        }
    }
}
