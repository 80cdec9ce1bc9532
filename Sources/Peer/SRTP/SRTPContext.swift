import Basics

/// The media encryption of one connection: everything that it sends and receives, whatever the SSRC.
///
/// libsrtp encrypts in place; here is what it must not be given: packets that are too short for what their header
/// promises, that lie at odd addresses, or that have no room behind them. The rollover counter is implicit and starts at
/// 0 at both ends, so the caller chooses first sequence numbers below 2¹⁵, decrypts every packet that comes, also those
/// it has no use for, and never takes an SSRC up again. How many SSRCs come here is the caller's to bound
/// (`SourceTable`): each costs a stream of the library. Confined to its connection's thread.
package final class SRTPContext {
    /// Room that `protectRTP` and `protectRTCP` may need behind a packet, in bytes: the longest tag, and the index of
    /// RTCP. (`SRTP_MAX_TRAILER_LEN` is 144, for a key identifier too, which DTLS-SRTP does not use.)
    package static let maximumOverhead = 20

    /// The index of RTCP, which follows what it encrypts (RFC 3711 §3.4).
    private static let indexLength = 4
    /// libsrtp loads and stores 32-bit words.
    private static let alignment = 4

    package let profile: SRTPProfile
    package private(set) var statistics = SRTPStatistics()
    private let outbound: SRTPSession
    private let inbound: SRTPSession

    package init(_ keys: SRTPKeys) throws(SRTPError) {
        profile = keys.profile
        outbound = try SRTPSession(keys.profile, master: keys.local, direction: .sends)
        inbound = try SRTPSession(keys.profile, master: keys.remote, direction: .receives)
    }

    /// Encrypts the RTP packet of `length` bytes at the buffer's start and returns its new length.
    ///
    /// A packet may be sent again under its own sequence number as long as it lies within the replay window: the bytes
    /// are the same ones then, as a nonce must never encrypt two texts.
    package func protectRTP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try counting { () throws(SRTPError) in
            let base = try Self.start(of: buffer, length: length, minimum: 12)
            try Self.checkHeader(base, length: length)
            guard length + profile.tagLength <= buffer.count else { throw .noRoom }
            let count = try Self.aligned(base, count: length, room: profile.tagLength) { (packet) throws(SRTPError) in
                try outbound.protectRTP(packet, count: length)
            }
            statistics.protected += 1
            return count
        }
    }

    /// Checks and decrypts the RTP packet of `length` bytes at the buffer's start and returns its new length.
    /// After a failure the bytes are worth nothing.
    package func unprotectRTP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try counting { () throws(SRTPError) in
            let base = try Self.start(of: buffer, length: length, minimum: 12 + profile.tagLength)
            try Self.checkHeader(base, length: length - profile.tagLength)
            let count = try Self.aligned(base, count: length, room: 0) { (packet) throws(SRTPError) in
                try inbound.unprotectRTP(packet, count: length)
            }
            statistics.unprotected += 1
            return count
        }
    }

    /// Encrypts the compound RTCP packet of `length` bytes at the buffer's start and returns its new length.
    package func protectRTCP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try counting { () throws(SRTPError) in
            let base = try Self.start(of: buffer, length: length, minimum: 8)
            let overhead = profile.tagLength + Self.indexLength
            guard length + overhead <= buffer.count else { throw .noRoom }
            let count = try Self.aligned(base, count: length, room: overhead) { (packet) throws(SRTPError) in
                try outbound.protectRTCP(packet, count: length)
            }
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
            let overhead = profile.tagLength + Self.indexLength
            let base = try Self.start(of: buffer, length: length, minimum: 8 + overhead)
            // libsrtp 2.5 would take it with GCM, and if it is longer than 2046 bytes, authentic or not, refuse all
            // RTCP after it: what NSS's GCM has collected to authenticate is not dropped when it is too much.
            let place = profile.isAuthenticatedCipher ? length - Self.indexLength : length - overhead
            guard base.load(fromByteOffset: place, as: UInt8.self) & 0x80 != 0 else { throw .unauthenticated }
            let count = try Self.aligned(base, count: length, room: 0) { (packet) throws(SRTPError) in
                try inbound.unprotectRTCP(packet, count: length)
            }
            statistics.unprotected += 1
            return count
        }
    }

    /// Frees what is kept of an SSRC of the peer's: its replay windows and rollover counter. Its packets must not be
    /// decrypted again, or old ones would be taken a second time.
    package func forget(ssrc: SSRC) { inbound.forget(ssrc) }

    /// Runs one operation, and counts why it failed.
    private func counting(_ body: () throws(SRTPError) -> Int) throws(SRTPError) -> Int {
        do {
            return try body()
        } catch {
            statistics.count(error)
            throw error
        }
    }

    /// Calls `body` with the packet where the library may work on it: at its own place, except for packets of TCP
    /// connections, which begin two bytes behind their length (RFC 4571).
    private static func aligned(
        _ base: UnsafeMutableRawPointer, count: Int, room: Int,
        _ body: (UnsafeMutableRawPointer) throws(SRTPError) -> Int
    ) throws(SRTPError) -> Int {
        if Int(bitPattern: base) % alignment == 0 { return try body(base) }
        let copy = UnsafeMutableRawPointer.allocate(byteCount: count + room, alignment: alignment)
        defer { copy.deallocate() }
        copy.copyMemory(from: base, byteCount: count)
        let length = try body(copy)
        base.copyMemory(from: copy, byteCount: length)
        return length
    }

    private static func start(
        of buffer: UnsafeMutableRawBufferPointer, length: Int, minimum: Int
    ) throws(SRTPError) -> UnsafeMutableRawPointer {
        guard let base = buffer.baseAddress, length >= minimum, length <= buffer.count, length <= Int(UInt16.max) else {
            throw .malformed
        }
        return base
    }

    /// Checks that what stays in clear is there: the fixed header, contributing sources and the extension (RFC 3711
    /// §3.1).
    private static func checkHeader(_ base: UnsafeMutableRawPointer, length: Int) throws(SRTPError) {
        let first = base.load(as: UInt8.self)
        guard first >> 6 == 2 else { throw .malformed }
        var header = 12 + 4 * Int(first & 0x0F)
        if first & 0x10 != 0 {
            guard header + 4 <= length else { throw .malformed }
            header += 4 + 4 * Int(UInt16(bigEndian: base.loadUnaligned(fromByteOffset: header + 2, as: UInt16.self)))
        }
        guard header <= length else { throw .malformed }
    }
}
