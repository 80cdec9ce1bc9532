import Basics
import CSRTP
import Testing

@testable import Peer

/// What is kept from libsrtp, and what it must survive.
@Suite struct SRTPHostilePacketTests: SRTPPackets {
    /// Reports of `count` bytes that say that they are not encrypted, and are authentic.
    private func clear(_ keys: SRTPKeys, count: Int) throws -> [UInt8] {
        _ = try SRTPContext(keys)  // The library has started.
        var policy = srtp_policy_t()
        let number = srtp_profile_t(rawValue: UInt32(keys.profile.rawValue))
        try #require(srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, number) == srtp_err_status_ok)
        try #require(srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, number) == srtp_err_status_ok)
        policy.rtcp.sec_serv = sec_serv_auth
        policy.ssrc.type = ssrc_any_outbound
        var session: srtp_t?
        var key = keys.local
        let status = key.withUnsafeMutableBufferPointer { bytes in
            policy.key = bytes.baseAddress
            return srtp_create(&session, &policy)
        }
        try #require(status == srtp_err_status_ok)
        defer { srtp_dealloc(session) }
        var packet = rtcp() + [UInt8](repeating: 0, count: count - 8)
        var length = Int32(packet.count)
        packet += [UInt8](repeating: 0, count: SRTPContext.maximumOverhead)
        let isDone = packet.withUnsafeMutableBytes { srtp_protect_rtcp(session, $0.baseAddress, &length) }
        try #require(isDone == srtp_err_status_ok)
        return Array(packet[..<Int(length)])
    }

    @Test(arguments: SRTPProfile.allCases)
    func `RTCP that is authentic and not encrypted is refused`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let receiver = try SRTPContext(b)
        let report = try clear(a, count: 8)
        #expect(throws: SRTPError.unauthenticated) { try apply(report, receiver.unprotectRTCP) }
        #expect(receiver.statistics.unauthenticated == 1)
    }

    @Test(arguments: SRTPProfile.allCases)
    func `RTCP of any length that says it is not encrypted does no harm to what follows`(
        profile: SRTPProfile
    ) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        // NSS's GCM collects at most 2048 octets to authenticate.
        for length in [28, 1200] + Array(2040...2080) + [9000] {
            var forged = rtcp() + [UInt8](repeating: 0x11, count: length - 8)
            #expect(throws: SRTPError.unauthenticated) { try apply(forged, receiver.unprotectRTCP) }
            // Likewise one that says it is.
            forged[length - 4] = 0x91
            forged[length - 14] = 0x91
            #expect(throws: SRTPError.unauthenticated) { try apply(forged, receiver.unprotectRTCP) }
            #expect(try apply(try apply(rtcp(), sender.protectRTCP), receiver.unprotectRTCP) == rtcp())
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `A header longer than the cipher can authenticate is an error, and does no harm to what follows`(
        profile: SRTPProfile
    ) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        for words in Array(500...512) + [2000, 16_000] {
            var packet = rtp(UInt16(words), payload: [])
            packet[0] |= 0x10
            packet += [0xBE, 0xDE, UInt8(words >> 8), UInt8(words & 0xFF)]
            packet += [UInt8](repeating: 0, count: 4 * words + 30)
            _ = try? apply(packet, sender.protectRTP)
            #expect(throws: SRTPError.self) { try apply(packet, receiver.unprotectRTP) }
            let next = rtp(UInt16(words + 1))
            #expect(try apply(try apply(next, sender.protectRTP), receiver.unprotectRTP) == next)
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Packets forged under many SSRCs do no harm to the first authentic one`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        for ssrc in UInt32(0)..<500 {
            var packet = try apply(rtp(1, ssrc: ssrc), sender.protectRTP)
            packet[packet.count - 1] ^= 1
            #expect(throws: SRTPError.unauthenticated) { try apply(packet, receiver.unprotectRTP) }
        }
        let packet = rtp(40_000, ssrc: 3)
        #expect(try apply(try apply(packet, sender.protectRTP), receiver.unprotectRTP) == packet)
        #expect(receiver.statistics.unauthenticated == 500 && receiver.statistics.unprotected == 1)
    }

    @Test func `Connections on several threads come, go and encrypt beside each other`() async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var count = 0
                    for _ in 0..<20 {
                        let (a, b) = keys(SRTPProfile.allCases[task % 3])
                        let sender = try SRTPContext(a)
                        let receiver = try SRTPContext(b)
                        for sequence in UInt16(0)..<50 {
                            let packet = rtp(sequence, ssrc: UInt32(task))
                            let decrypted = try apply(try apply(packet, sender.protectRTP), receiver.unprotectRTP)
                            count += decrypted == packet ? 1 : 0
                        }
                    }
                    return count
                }
            }
            for try await count in group { #expect(count == 1000) }
        }
    }
}
