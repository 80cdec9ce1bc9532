import Basics

/// The media encryption of one connection: everything that it sends and receives, whatever the SSRC.
///
/// In place and without allocation, except for the first packet of an SSRC. The rollover counter is implicit and starts
/// at 0 at both ends, so the caller chooses first sequence numbers below 2¹⁵, decrypts every packet that comes, also
/// those it has no use for, and never takes an SSRC up again. Confined to its connection's thread.
package final class SRTPContext {
    /// Room that `protectRTP` and `protectRTCP` may need behind a packet, in bytes: the longest tag, and the index of
    /// RTCP.
    package static let maximumOverhead = 20

    /// The E flag of RTCP: the packet is encrypted (RFC 3711 §3.4).
    private static let encrypted: UInt32 = 0x8000_0000
    /// How far the index of RTCP goes under one key (RFC 3711 §3.4, §9.2).
    private static let lastReportIndex: UInt64 = 0x7FFF_FFFF
    /// How far the index of RTP goes under one key: 32 bits of rollover counter, 16 of sequence number.
    private static let lastIndex: UInt64 = (1 << 48) - 1

    package let profile: SRTPProfile
    package private(set) var statistics = SRTPStatistics()
    private let rtpSealer: SRTPCipher
    private let rtpOpener: SRTPCipher
    private let rtcpSealer: SRTPCipher
    private let rtcpOpener: SRTPCipher
    private var receivedMedia: [SSRC: SRTPReplayWindow] = [:]
    private var receivedReports: [SSRC: SRTPReplayWindow] = [:]
    /// The highest index of each source of ours.
    private var sentMedia: [SSRC: UInt64] = [:]
    private var sentReports: [SSRC: UInt64] = [:]

    package init(_ keys: SRTPKeys) throws(SRTPError) {
        let length = keys.profile.keyLength + keys.profile.saltLength
        guard keys.local.count == length, keys.remote.count == length else { throw .malformed }
        profile = keys.profile
        rtpSealer = try SRTPCipher(profile, master: keys.local, isReport: false, encrypts: true)
        rtpOpener = try SRTPCipher(profile, master: keys.remote, isReport: false, encrypts: false)
        rtcpSealer = try SRTPCipher(profile, master: keys.local, isReport: true, encrypts: true)
        rtcpOpener = try SRTPCipher(profile, master: keys.remote, isReport: true, encrypts: false)
    }

    /// Encrypts the RTP packet of `length` bytes at the buffer's start and returns its new length.
    ///
    /// A packet may be sent again under its own sequence number as long as it lies within the replay window: the bytes
    /// are the same ones then, as a nonce must never encrypt two texts.
    package func protectRTP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try counting { () throws(SRTPError) in
            let base = try Self.start(of: buffer, length: length, minimum: 12)
            guard length + rtpSealer.overhead <= buffer.count else { throw .noRoom }
            let header = try Self.headerLength(base, length: length)
            let (ssrc, sequence) = Self.source(base)
            let highest = sentMedia[ssrc]
            let index = SRTPReplayWindow.index(of: sequence, near: highest)
            guard index <= Self.lastIndex else { throw .keyExhausted }
            if let highest, index + SRTPReplayWindow.size <= highest { throw .replayed }
            let count = try rtpSealer.seal(
                base, count: length,
                SRTPCipher.Packet(
                    ssrc: ssrc.rawValue, index: index, header: header,
                    word: UInt32(truncatingIfNeeded: index >> 16)))
            if index >= highest ?? 0 { sentMedia[ssrc] = index }
            statistics.protected += 1
            return count
        }
    }

    /// Checks and decrypts the RTP packet of `length` bytes at the buffer's start and returns its new length.
    /// After a failure the bytes are worth nothing.
    package func unprotectRTP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try counting { () throws(SRTPError) in
            let base = try Self.start(of: buffer, length: length, minimum: 12 + rtpOpener.overhead)
            let header = try Self.headerLength(base, length: length - rtpOpener.overhead)
            let (ssrc, sequence) = Self.source(base)
            let known = receivedMedia.index(forKey: ssrc)
            let index = known.map { receivedMedia.values[$0].index(of: sequence) } ?? UInt64(sequence)
            guard index <= Self.lastIndex else { throw .keyExhausted }
            if let known, !receivedMedia.values[known].allows(index) { throw .replayed }
            let count = try rtpOpener.open(
                base, count: length,
                SRTPCipher.Packet(
                    ssrc: ssrc.rawValue, index: index, header: header,
                    word: UInt32(truncatingIfNeeded: index >> 16)))
            Self.insert(index, of: ssrc, known, in: &receivedMedia)
            statistics.unprotected += 1
            return count
        }
    }

    /// Encrypts the compound RTCP packet of `length` bytes at the buffer's start and returns its new length.
    package func protectRTCP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try counting { () throws(SRTPError) in
            let base = try Self.start(of: buffer, length: length, minimum: 8)
            guard length + rtcpSealer.overhead <= buffer.count else { throw .noRoom }
            let ssrc = Self.reporter(base)
            let index = (sentReports[ssrc] ?? 0) + 1
            guard index <= Self.lastReportIndex else { throw .keyExhausted }
            let count = try rtcpSealer.seal(
                base, count: length,
                SRTPCipher.Packet(
                    ssrc: ssrc.rawValue, index: index, header: 8, word: Self.encrypted | UInt32(index)))
            sentReports[ssrc] = index
            statistics.protected += 1
            return count
        }
    }

    /// Checks and decrypts the RTCP packet of `length` bytes at the buffer's start and returns its new length.
    /// After a failure the bytes are worth nothing.
    ///
    /// RTCP that says it is not encrypted is refused: no profile of DTLS-SRTP sends it.
    package func unprotectRTCP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try counting { () throws(SRTPError) in
            let base = try Self.start(of: buffer, length: length, minimum: 8 + rtcpOpener.overhead)
            let ssrc = Self.reporter(base)
            // The index is the last word of GCM, and stands before the tag of counter mode.
            let place = profile.isAuthenticatedCipher ? length - 4 : length - 4 - profile.tagLength
            let word = UInt32(bigEndian: base.loadUnaligned(fromByteOffset: place, as: UInt32.self))
            guard word & Self.encrypted != 0 else { throw .unauthenticated }
            let index = UInt64(word & ~Self.encrypted)
            let known = receivedReports.index(forKey: ssrc)
            if let known, !receivedReports.values[known].allows(index) { throw .replayed }
            let count = try rtcpOpener.open(
                base, count: length, SRTPCipher.Packet(ssrc: ssrc.rawValue, index: index, header: 8, word: word))
            Self.insert(index, of: ssrc, known, in: &receivedReports)
            statistics.unprotected += 1
            return count
        }
    }

    /// Frees what is kept of an SSRC of the peer's: its replay windows and rollover counter. Its packets must not be
    /// decrypted again, or old ones would be taken a second time.
    package func forget(ssrc: SSRC) {
        receivedMedia[ssrc] = nil
        receivedReports[ssrc] = nil
    }

    /// Runs one operation, and counts why it failed.
    private func counting(_ body: () throws(SRTPError) -> Int) throws(SRTPError) -> Int {
        do {
            return try body()
        } catch {
            statistics.count(error)
            throw error
        }
    }

    private static func insert(
        _ index: UInt64, of ssrc: SSRC, _ known: Dictionary<SSRC, SRTPReplayWindow>.Index?,
        in windows: inout [SSRC: SRTPReplayWindow]
    ) {
        if let known {
            windows.values[known].insert(index)
        } else {
            windows[ssrc, default: SRTPReplayWindow()].insert(index)
        }
    }

    private static func start(
        of buffer: UnsafeMutableRawBufferPointer, length: Int, minimum: Int
    ) throws(SRTPError) -> UnsafeMutableRawPointer {
        guard let base = buffer.baseAddress, length >= minimum, length <= buffer.count, length <= Int(Int32.max) else {
            throw .malformed
        }
        return base
    }

    /// What stays in clear: the fixed header, contributing sources and the extension (RFC 3711 §3.1).
    private static func headerLength(_ base: UnsafeMutableRawPointer, length: Int) throws(SRTPError) -> Int {
        let first = base.load(as: UInt8.self)
        guard first >> 6 == 2 else { throw .malformed }
        var header = 12 + 4 * Int(first & 0x0F)
        if first & 0x10 != 0 {
            guard header + 4 <= length else { throw .malformed }
            header += 4 + 4 * Int(UInt16(bigEndian: base.loadUnaligned(fromByteOffset: header + 2, as: UInt16.self)))
        }
        guard header <= length else { throw .malformed }
        return header
    }

    private static func source(_ base: UnsafeMutableRawPointer) -> (ssrc: SSRC, sequence: UInt16) {
        (
            SSRC(UInt32(bigEndian: base.loadUnaligned(fromByteOffset: 8, as: UInt32.self))),
            UInt16(bigEndian: base.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        )
    }

    /// The sender of an RTCP packet.
    private static func reporter(_ base: UnsafeMutableRawPointer) -> SSRC {
        SSRC(UInt32(bigEndian: base.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
    }
}
