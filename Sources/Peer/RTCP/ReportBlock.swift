import Basics

/// A receiver's report about one stream (RFC 3550 §6.4.1).
struct ReportBlock: Sendable, Equatable {
    static let size = 24

    var ssrc: SSRC
    /// In 1/256 of the packets since the last report.
    var fractionLost: UInt8 = 0
    /// 24 bits, signed.
    var cumulativeLost: Int32 = 0
    /// Cycles in the upper 16 bits.
    var highestSequence: UInt32 = 0
    /// In ticks of the media clock.
    var jitter: UInt32 = 0
    /// The middle 32 bits of the last sender report's NTP time; 0 before the first.
    var lastSenderReport: UInt32 = 0
    /// In 1/65536 s.
    var delaySinceLastSenderReport: UInt32 = 0

    init(ssrc: SSRC) { self.ssrc = ssrc }

    init(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        ssrc = try reader.readSSRC()
        fractionLost = try reader.readUInt8()
        let lost = try reader.readUInt24()
        cumulativeLost = Int32(bitPattern: lost << 8) >> 8
        highestSequence = try reader.readUInt32()
        jitter = try reader.readUInt32()
        lastSenderReport = try reader.readUInt32()
        delaySinceLastSenderReport = try reader.readUInt32()
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append32(ssrc.rawValue)
        bytes.append(fractionLost)
        bytes.append24(UInt32(bitPattern: min(max(cumulativeLost, -0x80_0000), 0x7F_FFFF)))
        bytes.append32(highestSequence)
        bytes.append32(jitter)
        bytes.append32(lastSenderReport)
        bytes.append32(delaySinceLastSenderReport)
    }

    /// The round trip that this block shows to the sender of the report that it answers; nil if it answers none.
    /// `compactNow` is that sender's own NTP time, middle 32 bits.
    func roundTrip(compactNow: UInt32) -> Duration? {
        guard lastSenderReport != 0 else { return nil }
        let ticks = Int32(bitPattern: compactNow &- lastSenderReport &- delaySinceLastSenderReport)
        // A value slightly below zero comes from rounding in both clocks.
        return .nanoseconds(Int64(max(ticks, 0)) * 1_000_000_000 / 65536)
    }
}
