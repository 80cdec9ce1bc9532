import Basics
import CSRTP

/// The media encryption of one connection: everything that it sends and receives, whatever the SSRC.
///
/// In place and without allocation, except for the first packet of an SSRC. Confined to its connection's thread: a
/// libsrtp session has one owner. The rollover counter is implicit and starts at 0 at both ends, so the caller chooses
/// first sequence numbers below 2¹⁵, decrypts every packet that comes, also those it has no use for, and never takes an
/// SSRC up again.
package final class SRTPContext {
    /// Room that `protectRTP` and `protectRTCP` may need behind a packet, in bytes.
    package static let maximumOverhead = Int(SRTP_MAX_TRAILER_LEN) + 4

    /// Packets a late one may lie behind the newest. libsrtp's own 128 is less than 100 ms of video.
    private static let replayWindow: UInt = 1024

    package let profile: SRTPProfile
    package private(set) var statistics = SRTPStatistics()
    private let inbound: srtp_t
    private let outbound: srtp_t

    /// libsrtp's process-wide state: made once, by whoever comes first, and never torn down.
    ///
    /// Debian's libsrtp sits on NSS, opens an NSS context per cipher and shuts NSS down with the last of them. One
    /// session that stays for ever keeps that from happening while another thread opens its first.
    private static let libraryStatus: srtp_err_status_t = {
        let status = srtp_init()
        guard status == srtp_err_status_ok else { return status }
        _ = try? session(ssrc_any_inbound, .aes128GCM, key: [UInt8](repeating: 0, count: 28))
        return status
    }()

    /// Sessions are made and freed one at a time, for the same reason. The number is read by nobody: a lock around
    /// nothing has no place of its own in memory, and the thread sanitizer takes a write to it for one to the object's
    /// header.
    private static let lifecycle = Guarded(0)

    package init(_ keys: SRTPKeys) throws(SRTPError) {
        guard Self.libraryStatus == srtp_err_status_ok else { throw SRTPError(Self.libraryStatus) }
        let length = keys.profile.keyLength + keys.profile.saltLength
        guard keys.local.count == length, keys.remote.count == length else { throw .malformed }
        profile = keys.profile
        let inbound = try Self.session(ssrc_any_inbound, keys.profile, key: keys.remote)
        do {
            outbound = try Self.session(ssrc_any_outbound, keys.profile, key: keys.local)
        } catch {
            _ = Self.lifecycle.withLock { _ in srtp_dealloc(inbound) }
            throw error
        }
        self.inbound = inbound
    }

    deinit {
        Self.lifecycle.withLock { _ in
            _ = srtp_dealloc(inbound)
            _ = srtp_dealloc(outbound)
        }
    }

    /// Encrypts the RTP packet of `length` bytes at the buffer's start and returns its new length.
    ///
    /// A packet may be sent again under its own sequence number as long as it lies within the replay window.
    package func protectRTP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try run(buffer, length: length, minimum: 12, growth: profile.tagLength) { srtp_protect(outbound, $0, &$1) }
    }

    /// Checks and decrypts the RTP packet of `length` bytes at the buffer's start and returns its new length.
    /// After a failure the bytes are worth nothing.
    package func unprotectRTP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try run(buffer, length: length, minimum: 12 + profile.tagLength, growth: nil) {
            srtp_unprotect(inbound, $0, &$1)
        }
    }

    /// Encrypts the compound RTCP packet of `length` bytes at the buffer's start and returns its new length.
    package func protectRTCP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try run(buffer, length: length, minimum: 8, growth: profile.tagLength + 4) {
            srtp_protect_rtcp(outbound, $0, &$1)
        }
    }

    /// Checks and decrypts the RTCP packet of `length` bytes at the buffer's start and returns its new length.
    /// After a failure the bytes are worth nothing.
    package func unprotectRTCP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) throws(SRTPError) -> Int {
        try run(buffer, length: length, minimum: 8 + 4 + profile.tagLength, growth: nil) {
            srtp_unprotect_rtcp(inbound, $0, &$1)
        }
    }

    /// Frees what libsrtp keeps of an SSRC of the peer's: its replay list and rollover counter. Its packets must not be
    /// decrypted again, or old ones would be taken a second time.
    package func forget(ssrc: SSRC) {
        // libsrtp takes SSRCs as they stand in the packet.
        _ = Self.lifecycle.withLock { _ in srtp_remove_stream(inbound, ssrc.rawValue.bigEndian) }
    }

    /// Lengths first, then libsrtp, then the counters. `growth` is nil when decrypting.
    private func run(
        _ buffer: UnsafeMutableRawBufferPointer, length: Int, minimum: Int, growth: Int?,
        _ body: (UnsafeMutableRawPointer, inout Int32) -> srtp_err_status_t
    ) throws(SRTPError) -> Int {
        guard let base = buffer.baseAddress, length >= minimum, length <= buffer.count,
            var count = Int32(exactly: length)
        else {
            statistics.count(.malformed)
            throw .malformed
        }
        if let growth, length + growth > buffer.count {
            statistics.count(.noRoom)
            throw .noRoom
        }
        let status = body(base, &count)
        guard status == srtp_err_status_ok else {
            let error = SRTPError(status)
            statistics.count(error)
            throw error
        }
        if growth == nil { statistics.unprotected += 1 } else { statistics.protected += 1 }
        return Int(count)
    }

    private static func session(
        _ direction: srtp_ssrc_type_t, _ profile: SRTPProfile, key: [UInt8]
    ) throws(SRTPError) -> srtp_t {
        var policy = srtp_policy_t()
        switch profile {
        case .aes128GCM:
            srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp)
            srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp)
        case .aes256GCM:
            srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy.rtp)
            srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy.rtcp)
        case .aes128CounterSHA1_80:
            srtp_crypto_policy_set_rtp_default(&policy.rtp)
            srtp_crypto_policy_set_rtcp_default(&policy.rtcp)
        }
        policy.ssrc.type = direction
        policy.window_size = replayWindow
        policy.allow_repeat_tx = 1
        var session: srtp_t?
        var key = key
        let status = key.withUnsafeMutableBufferPointer { bytes in
            policy.key = bytes.baseAddress
            return lifecycle.withLock { _ in srtp_create(&session, &policy) }
        }
        guard status == srtp_err_status_ok, let session else { throw SRTPError(status) }
        return session
    }
}
