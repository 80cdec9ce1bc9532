import Basics

/// RTCP 200 (RFC 3550 §6.4.1).
struct SenderReport: Sendable, Equatable {
    static let packetType: UInt8 = 200

    var ssrc: SSRC
    /// 32.32 fixed point, seconds since 1900.
    var ntpTime: UInt64
    /// The media clock at the same instant.
    var rtpTimestamp: RTPTimestamp
    var packetCount: UInt32
    var octetCount: UInt32
    /// At most 31 are written.
    var reports: [ReportBlock]

    init(
        ssrc: SSRC, ntpTime: UInt64, rtpTimestamp: RTPTimestamp, packetCount: UInt32 = 0, octetCount: UInt32 = 0,
        reports: [ReportBlock] = []
    ) {
        self.ssrc = ssrc
        self.ntpTime = ntpTime
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
        self.reports = reports
    }

    init(_ reader: inout ByteReader, count: Int) throws(ByteReader.Truncated) {
        ssrc = try reader.readSSRC()
        ntpTime = try reader.readUInt64()
        rtpTimestamp = try reader.readRTPTimestamp()
        packetCount = try reader.readUInt32()
        octetCount = try reader.readUInt32()
        reports = []
        for _ in 0..<count { reports.append(try ReportBlock(&reader)) }
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        let blocks = reports.prefix(31)
        RTCPPacket.encodeHeader(
            Self.packetType, count: blocks.count, bodyBytes: 24 + ReportBlock.size * blocks.count, into: &bytes)
        bytes.append32(ssrc.rawValue)
        bytes.append64(ntpTime)
        bytes.append32(rtpTimestamp.rawValue)
        bytes.append32(packetCount)
        bytes.append32(octetCount)
        for block in blocks { block.encode(into: &bytes) }
    }
}
