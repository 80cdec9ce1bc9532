import Basics
import CSRTP
import Testing

@testable import Peer

/// Our packets and libsrtp's are the same bytes: libsrtp is no part of the server, only its measure here.
@Suite(.serialized) struct SRTPAgainstLibraryTests {
    /// One direction of libsrtp.
    private final class Library {
        /// A second start of the library would fail.
        private static let isStarted = srtp_init() == srtp_err_status_ok
        let session: srtp_t

        init(_ profile: SRTPProfile, key: [UInt8], isInbound: Bool) throws {
            try #require(Self.isStarted)
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
            policy.ssrc.type = isInbound ? ssrc_any_inbound : ssrc_any_outbound
            policy.window_size = UInt(SRTPReplayWindow.size)
            policy.allow_repeat_tx = 1
            var made: srtp_t?
            var key = key
            let status = key.withUnsafeMutableBufferPointer { bytes in
                policy.key = bytes.baseAddress
                return srtp_create(&made, &policy)
            }
            try #require(status == srtp_err_status_ok)
            session = try #require(made)
        }

        deinit { srtp_dealloc(session) }

        func run(
            _ packet: [UInt8], _ body: (srtp_t, UnsafeMutableRawPointer, inout Int32) -> srtp_err_status_t
        ) -> [UInt8]? {
            var bytes = packet + [UInt8](repeating: 0, count: 160)
            var count = Int32(packet.count)
            let status = bytes.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map { body(session, $0, &count) } ?? srtp_err_status_fail
            }
            return status == srtp_err_status_ok ? Array(bytes[..<Int(count)]) : nil
        }
    }

    private static func run(
        _ packet: [UInt8], _ body: (UnsafeMutableRawBufferPointer, Int) throws(SRTPError) -> Int
    ) -> [UInt8]? {
        var bytes = packet + [UInt8](repeating: 0, count: SRTPContext.maximumOverhead)
        let count = bytes.withUnsafeMutableBytes { try? body($0, packet.count) }
        return count.map { Array(bytes[..<$0]) }
    }

    /// Any header: contributing sources, an extension, and a payload of any length.
    private static func media(sequence: UInt16, ssrc: UInt32, _ random: inout SeededRandom) -> [UInt8] {
        let sources = Int.random(in: 0...2, using: &random)
        let extended = Bool.random(using: &random)
        var bytes: [UInt8] = [0x80 | UInt8(sources) | (extended ? 0x10 : 0), 96]
        bytes.append16(sequence)
        bytes.append32(UInt32(sequence) &* 90)
        bytes.append32(ssrc)
        for _ in 0..<sources { bytes.append32(UInt32.random(in: 0...UInt32.max, using: &random)) }
        if extended {
            let words = Int.random(in: 0...3, using: &random)
            bytes.append16(0xBEDE)
            bytes.append16(UInt16(words))
            for _ in 0..<words { bytes.append32(UInt32.random(in: 0...UInt32.max, using: &random)) }
        }
        let count = Int.random(in: 1...1200, using: &random)
        return bytes + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `What either encrypts is the same, and the other takes it`(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: UInt64(profile.rawValue))
        let length = profile.keyLength + profile.saltLength
        let local = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
        let remote = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
        let ours = try SRTPContext(SRTPKeys(profile: profile, local: local, remote: remote))
        let outbound = try Library(profile, key: local, isInbound: false)
        let inbound = try Library(profile, key: local, isInbound: true)
        // What the library sends with the keys of the other end.
        let far = try Library(profile, key: remote, isInbound: false)
        var sequences: [UInt32: UInt16] = [7: 100, 8: 20_000]
        var kept: [[UInt8]] = []
        for step in 0..<3000 {
            let ssrc: UInt32 = step % 2 == 0 ? 7 : 8
            let sequence = (sequences[ssrc] ?? 0) &+ UInt16.random(in: 1...200, using: &random)
            sequences[ssrc] = sequence
            let packet = Self.media(sequence: sequence, ssrc: ssrc, &random)
            let mine = Self.run(packet, ours.protectRTP)
            #expect(mine == outbound.run(packet) { srtp_protect($0, $1, &$2) })
            #expect(mine.flatMap { inbound.run($0) { srtp_unprotect($0, $1, &$2) } } == packet)
            let theirs = try #require(far.run(packet) { srtp_protect($0, $1, &$2) })
            kept.append(theirs)
            // Some come late, some twice, some damaged.
            let late = kept.remove(at: kept.count > 8 ? Int.random(in: 0..<8, using: &random) : kept.count - 1)
            var damaged = late
            damaged[Int.random(in: 12..<late.count, using: &random)] ^= 4
            if step % 5 == 0 { #expect(Self.run(damaged, ours.unprotectRTP) == nil) }
            #expect(Self.run(late, ours.unprotectRTP) != nil)
            if step % 7 == 0 { #expect(Self.run(late, ours.unprotectRTP) == nil) }
        }
        #expect(ours.statistics.replayed == 429 && ours.statistics.unprotected == 3000)
        for step in 0..<300 {
            var report: [UInt8] = [0x81, 201, 0, 7]
            report.append32(step % 2 == 0 ? 7 : 8)
            report += (0..<24).map { _ in UInt8.random(in: 0...255, using: &random) }
            let mine = Self.run(report, ours.protectRTCP)
            #expect(mine == outbound.run(report) { srtp_protect_rtcp($0, $1, &$2) })
            #expect(mine.flatMap { inbound.run($0) { srtp_unprotect_rtcp($0, $1, &$2) } } == report)
            let theirs = try #require(far.run(report) { srtp_protect_rtcp($0, $1, &$2) })
            #expect(Self.run(theirs, ours.unprotectRTCP) == report)
            #expect(Self.run(theirs, ours.unprotectRTCP) == nil)
        }
    }
}
