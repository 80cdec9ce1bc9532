import Basics
import CSRTP

/// One direction of a connection's media in libsrtp. Owns the `srtp_t`; used by one thread at a time.
///
/// It takes packets whose header and length the caller has checked, at addresses that are multiples of 4. libsrtp keeps
/// a stream for each SSRC: its rollover counter, its replay windows for RTP and RTCP, and the index of its RTCP. The
/// first packet of ours under an SSRC makes one; of the peer's, the first that proved authentic.
struct SRTPSession: ~Copyable {
    enum Direction { case sends, receives }

    /// Packets that a late one may lie behind the newest. The 64 that RFC 3711 §3.3.2 asks for, and libsrtp's 128, are
    /// less than 100 ms of video.
    static let replayWindow = 1024

    private let session: srtp_t

    /// - Parameter master: key and salt, joined, of the lengths that `profile` says.
    init(_ profile: SRTPProfile, master: [UInt8], direction: Direction) throws(SRTPError) {
        guard master.count == profile.keyLength + profile.saltLength else { throw .malformed }
        guard SRTPLibrary.isStarted else { throw .library(srtp_err_status_init_fail.rawValue) }
        session = try Self.create(
            profile, master: master, direction: direction == .sends ? ssrc_any_outbound : ssrc_any_inbound)
    }

    deinit {
        let status = srtp_dealloc(session)
        assert(status == srtp_err_status_ok)
    }

    /// Encrypts an RTP packet of `count` bytes in place, behind which there is room for the tag; returns its new
    /// length.
    func protectRTP(_ packet: UnsafeMutableRawPointer, count: Int) throws(SRTPError) -> Int {
        var length = Int32(count)
        try Self.check(srtp_protect(session, packet, &length))
        return Int(length)
    }

    /// Encrypts a compound RTCP packet of `count` bytes in place, behind which there is room for the tag and the index;
    /// returns its new length.
    func protectRTCP(_ packet: UnsafeMutableRawPointer, count: Int) throws(SRTPError) -> Int {
        var length = Int32(count)
        try Self.check(srtp_protect_rtcp(session, packet, &length))
        return Int(length)
    }

    /// Checks and decrypts an RTP packet of `count` bytes in place; returns its new length.
    func unprotectRTP(_ packet: UnsafeMutableRawPointer, count: Int) throws(SRTPError) -> Int {
        var length = Int32(count)
        try Self.check(srtp_unprotect(session, packet, &length))
        return Int(length)
    }

    /// Checks and decrypts a compound RTCP packet of `count` bytes in place; returns its new length.
    func unprotectRTCP(_ packet: UnsafeMutableRawPointer, count: Int) throws(SRTPError) -> Int {
        var length = Int32(count)
        try Self.check(srtp_unprotect_rtcp(session, packet, &length))
        return Int(length)
    }

    /// Frees the stream of an SSRC. One without a stream is no fault.
    func forget(_ ssrc: SSRC) {
        // In network byte order, unlike every other SSRC in the library's API (srtp.h of 2.5).
        let status = srtp_remove_stream(session, ssrc.rawValue.bigEndian)
        assert(status == srtp_err_status_ok || status == srtp_err_status_no_ctx)
    }

    static func create(
        _ profile: SRTPProfile, master: [UInt8], direction: srtp_ssrc_type_t
    ) throws(SRTPError) -> srtp_t {
        var policy = srtp_policy_t()
        // libsrtp numbers the profiles as DTLS-SRTP does.
        let number = srtp_profile_t(rawValue: srtp_profile_t.RawValue(profile.rawValue))
        try check(srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, number))
        try check(srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, number))
        policy.ssrc.type = direction
        policy.window_size = UInt(replayWindow)
        // Without RTX a packet is sent again with the same bytes (RetransmissionHistory).
        policy.allow_repeat_tx = 1
        var key = master
        var made: srtp_t?
        // The library derives the session keys here and keeps no pointer to the master key.
        let status = key.withUnsafeMutableBufferPointer { bytes in
            policy.key = bytes.baseAddress
            return srtp_create(&made, &policy)
        }
        try check(status)
        guard let made else { throw .library(srtp_err_status_alloc_fail.rawValue) }
        return made
    }

    private static func check(_ status: srtp_err_status_t) throws(SRTPError) {
        switch status {
        case srtp_err_status_ok: return
        case srtp_err_status_replay_fail, srtp_err_status_replay_old, srtp_err_status_pkt_idx_old: throw .replayed
        // `cant_check`: RTCP that says it is not encrypted.
        case srtp_err_status_auth_fail, srtp_err_status_cant_check: throw .unauthenticated
        case srtp_err_status_bad_param, srtp_err_status_parse_err: throw .malformed
        case srtp_err_status_key_expired: throw .keyExhausted
        default: throw .library(status.rawValue)
        }
    }
}
