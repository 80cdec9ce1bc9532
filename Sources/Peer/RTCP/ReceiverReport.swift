import Basics

/// RTCP 201 (RFC 3550 §6.4.2).
struct ReceiverReport: Sendable, Equatable {
    static let packetType: UInt8 = 201

    var ssrc: SSRC
    /// At most 31 are written.
    var reports: [ReportBlock]

    init(ssrc: SSRC, reports: [ReportBlock] = []) {
        self.ssrc = ssrc
        self.reports = reports
    }

    init(_ reader: inout ByteReader, count: Int) throws(ByteReader.Truncated) {
        ssrc = try reader.readSSRC()
        reports = []
        for _ in 0..<count { reports.append(try ReportBlock(&reader)) }
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        let blocks = reports.prefix(31)
        RTCPPacket.encodeHeader(
            Self.packetType, count: blocks.count, bodyBytes: 4 + ReportBlock.size * blocks.count, into: &bytes)
        bytes.append32(ssrc.rawValue)
        for block in blocks { block.encode(into: &bytes) }
    }
}
