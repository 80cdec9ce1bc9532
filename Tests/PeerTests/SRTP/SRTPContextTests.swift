import Basics
import Testing

@testable import Peer

@Suite struct SRTPContextTests: SRTPPackets {
    struct Vector: CustomTestStringConvertible, Sendable {
        let name: String
        let profile: SRTPProfile
        let key: String
        let rtp: String
        let srtp: String
        /// The same RTP packet with a rollover counter of 2.
        let wrapped: String
        let rtcp: String
        let srtcp: String
        var testDescription: String { name }
    }

    /// The RTP header of libsrtp's validation packets, over the master keys of RFC 3711 B.3 and of the RFC 7714
    /// examples. The examples in RFC 7714 §16 start from session keys, which the library does not take. The bytes with
    /// 256 bits, and those after two wraps, were computed from the RFCs with another implementation of AES.
    static let vectors = [
        Vector(
            name: "AES-CM-128-HMAC-SHA1-80", profile: .aes128CounterSHA1_80,
            key: "e1f97a0d3e018be0d64fa32c06de4139 0ec675ad498afeebb6960b3aabe6",
            rtp: "800f1234decafbadcafebabe abababababababababababababababab",
            srtp: "800f1234decafbadcafebabe 4e55dc4ce79978d88ca4d215949d2402 b78d6acc99ea179b8dbb",
            wrapped: "800f1234decafbadcafebabe b7b1f926d2e2316775b3d8f3197b194b 13616174bc06be9798ab",
            rtcp: "81c8000bcafebabe abababababababababababababababab",
            srtcp: "81c8000bcafebabe 7128035be487b9bdbef89041f977a5a8 80000001 993e08cd54d6c1230798"),
        Vector(
            name: "AEAD-AES-128-GCM", profile: .aes128GCM,
            key: "000102030405060708090a0b0c0d0e0f a0a1a2a3a4a5a6a7a8a9aaab",
            rtp: "800f1234decafbadcafebabe abababababababababababababababab",
            srtp: "800f1234decafbadcafebabe c5002ede04cfdd2eb91159e0880aa06e d2976826f796b201df3131a127e8a392",
            wrapped: "800f1234decafbadcafebabe 11a6caccac2e2fc196827ec05cd6c2a6 c01ebd320c35c91b1606e211ee46e9aa",
            rtcp: "81c8000bcafebabe abababababababababababababababab",
            srtcp: "81c8000bcafebabe c98b8b5df0392a55852b6c21ac8e7025 c52c6fbea2b3b446ea31123ba88ce61e 80000001"),
        Vector(
            name: "AEAD-AES-256-GCM", profile: .aes256GCM,
            key: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f a0a1a2a3a4a5a6a7a8a9aaab",
            rtp: "800f1234decafbadcafebabe abababababababababababababababab",
            srtp: "800f1234decafbadcafebabe 0af7f21e8a90bdad7a425c9c31ed4bb1 d90238917e7390a2793500e1681acaea",
            wrapped: "800f1234decafbadcafebabe 718dc48e2f53536e845b5ca373964fe5 96bcf9e9319b12b3e781acfb26a022b6",
            rtcp: "81c8000bcafebabe abababababababababababababababab",
            srtcp: "81c8000bcafebabe 8abfafa780070a90e80f9161cf4aac08 1ed93aaa53c15b0f3ed1a3b984167b03 80000001"),
    ]

    /// RFC 3711 §3.4.
    @Test(arguments: vectors)
    func `Known packets encrypt to known bytes, and back`(vector: Vector) throws {
        let key = hex(vector.key)
        let context = try SRTPContext(SRTPKeys(profile: vector.profile, local: key, remote: key))
        #expect(try apply(hex(vector.rtp), context.protectRTP) == hex(vector.srtp))
        #expect(try apply(hex(vector.srtp), context.unprotectRTP) == hex(vector.rtp))
        #expect(try apply(hex(vector.rtcp), context.protectRTCP) == hex(vector.srtcp))
        #expect(try apply(hex(vector.srtcp), context.unprotectRTCP) == hex(vector.rtcp))
    }

    @Test(arguments: vectors)
    func `A known packet encrypts to known bytes after two wraps, and back`(vector: Vector) throws {
        let key = hex(vector.key)
        let context = try SRTPContext(SRTPKeys(profile: vector.profile, local: key, remote: key))
        // By 2¹⁴ numbers at a time up to the index 2¹⁷ + 0x1234.
        for step in 0..<8 {
            _ = try apply(
                try apply(rtp(UInt16(truncatingIfNeeded: 0x1234 + step << 14), ssrc: 0xCAFE_BABE), context.protectRTP),
                context.unprotectRTP)
        }
        #expect(try apply(hex(vector.rtp), context.protectRTP) == hex(vector.wrapped))
        #expect(try apply(hex(vector.wrapped), context.unprotectRTP) == hex(vector.rtp))
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Packets that one end encrypts are decrypted by the other, across two wraps and for several sources`(
        profile: SRTPProfile
    ) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        // 37 a step: no more than the window apart.
        for step in 0..<4000 {
            let sequence = UInt16(truncatingIfNeeded: 30_000 + step * 37)
            for ssrc in [7, 8] as [UInt32] {
                let packet = rtp(sequence, ssrc: ssrc)
                let encrypted = try apply(packet, sender.protectRTP)
                #expect(encrypted.count == packet.count + profile.tagLength)
                #expect(encrypted[12...] != packet[12...])
                #expect(try apply(encrypted, receiver.unprotectRTP) == packet)
            }
        }
        #expect(receiver.statistics.unprotected == 8000)
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Packets that are late by less than the window are accepted around a wrap`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        let packets = (0..<200).map { rtp(UInt16(truncatingIfNeeded: 65_436 + $0)) }
        var encrypted: [[UInt8]] = []
        for packet in packets { encrypted.append(try apply(packet, sender.protectRTP)) }
        // The first, then every other one, then those left out.
        for index in [0] + Array(stride(from: 1, to: 200, by: 2)) + Array(stride(from: 2, to: 200, by: 2)) {
            #expect(try apply(encrypted[index], receiver.unprotectRTP) == packets[index])
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `A packet is accepted once`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        let first = try apply(rtp(5), sender.protectRTP)
        _ = try apply(first, receiver.unprotectRTP)
        #expect(throws: SRTPError.replayed) { try apply(first, receiver.unprotectRTP) }
        let report = try apply(rtcp(), sender.protectRTCP)
        _ = try apply(report, receiver.unprotectRTCP)
        #expect(throws: SRTPError.replayed) { try apply(report, receiver.unprotectRTCP) }
        // Older than the window.
        for sequence in 6..<1200 {
            _ = try apply(try apply(rtp(UInt16(sequence)), sender.protectRTP), receiver.unprotectRTP)
        }
        #expect(throws: SRTPError.replayed) { try apply(first, receiver.unprotectRTP) }
        #expect(receiver.statistics.replayed == 3)
    }

    @Test(arguments: SRTPProfile.allCases)
    func `A forgotten source loses its replay list, and others keep theirs`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        let one = try apply(rtp(5, ssrc: 1), sender.protectRTP)
        let other = try apply(rtp(5, ssrc: 2), sender.protectRTP)
        _ = try apply(one, receiver.unprotectRTP)
        _ = try apply(other, receiver.unprotectRTP)
        receiver.forget(ssrc: 1)
        receiver.forget(ssrc: 77)
        #expect(throws: SRTPError.replayed) { try apply(other, receiver.unprotectRTP) }
        // Which is why nobody may take it up again.
        #expect(try apply(one, receiver.unprotectRTP) == rtp(5, ssrc: 1))
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Any changed bit is detected`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        _ = try apply(try apply(rtp(1), sender.protectRTP), receiver.unprotectRTP)
        let encrypted = try apply(rtp(2), sender.protectRTP)
        for index in 12..<encrypted.count {
            var changed = encrypted
            changed[index] ^= 0x10
            #expect(throws: SRTPError.unauthenticated) { try apply(changed, receiver.unprotectRTP) }
        }
        #expect(receiver.statistics.unauthenticated == encrypted.count - 12)
        #expect(try apply(encrypted, receiver.unprotectRTP) == rtp(2))
    }

    @Test(arguments: SRTPProfile.allCases)
    func `The same packet may be sent twice`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let sender = try SRTPContext(a)
        let receiver = try SRTPContext(b)
        let once = try apply(rtp(9), sender.protectRTP)
        _ = try apply(rtp(10), sender.protectRTP)
        let again = try apply(rtp(9), sender.protectRTP)
        #expect(once == again)
        #expect(try apply(again, receiver.unprotectRTP) == rtp(9))
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Lengths are checked before anything is read or written`(profile: SRTPProfile) throws {
        let context = try SRTPContext(keys(profile).0)
        for count in 0..<12 {
            let short = [UInt8](repeating: 0x80, count: count)
            #expect(throws: SRTPError.malformed) { try apply(short, context.protectRTP) }
            #expect(throws: SRTPError.malformed) { try apply(short, context.unprotectRTP) }
            #expect(throws: SRTPError.malformed) { try apply(short, context.unprotectRTCP) }
        }
        var exact = rtp(1)
        exact.withUnsafeMutableBytes { buffer in
            #expect(throws: SRTPError.noRoom) { try context.protectRTP(buffer, length: buffer.count) }
            #expect(throws: SRTPError.malformed) { try context.protectRTP(buffer, length: buffer.count + 1) }
        }
        // A header that promises contributing sources and an extension that are not there.
        var promised = rtp(1, payload: Array(repeating: 0xFF, count: 20))
        promised[0] = 0x9F
        #expect(throws: SRTPError.malformed) { try apply(promised, context.unprotectRTP) }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Nothing behind the tag is written, and the tag is as long as the room that is asked for`(
        profile: SRTPProfile
    ) throws {
        let context = try SRTPContext(keys(profile).0)
        for (packet, overhead, protect) in [
            (rtp(1), profile.tagLength, context.protectRTP), (rtcp(), profile.tagLength + 4, context.protectRTCP),
        ] {
            #expect(overhead <= SRTPContext.maximumOverhead)
            var buffer = packet + [UInt8](repeating: 0xC5, count: 200)
            let length = try buffer.withUnsafeMutableBytes { bytes in
                try protect(UnsafeMutableRawBufferPointer(rebasing: bytes[..<(packet.count + overhead)]), packet.count)
            }
            #expect(length == packet.count + overhead)
            #expect(buffer[length...].allSatisfy { $0 == 0xC5 })
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Packets at odd addresses, as TCP frames are, are encrypted and decrypted like others`(
        profile: SRTPProfile
    ) throws {
        let (a, b) = keys(profile)
        let receiver = try SRTPContext(b)
        for offset in 0..<4 {
            let sender = try SRTPContext(a)
            let packet = rtp(UInt16(offset), payload: Array(0..<255))
            let expected = try apply(packet, try SRTPContext(a).protectRTP)
            var bytes = [UInt8](repeating: 0xC5, count: offset) + packet
            bytes += [UInt8](repeating: 0xC5, count: SRTPContext.maximumOverhead + 40)
            try bytes.withUnsafeMutableBytes { all in
                let room = UnsafeMutableRawBufferPointer(rebasing: all[offset...].prefix(packet.count + 20))
                let length = try sender.protectRTP(room, length: packet.count)
                #expect(Array(room[..<length]) == expected)
                #expect(try receiver.unprotectRTP(room, length: length) == packet.count)
                #expect(Array(room[..<packet.count]) == packet)
            }
            #expect(bytes[..<offset].allSatisfy { $0 == 0xC5 } && bytes.suffix(40).allSatisfy { $0 == 0xC5 })
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `A packet without payload is encrypted and decrypted`(profile: SRTPProfile) throws {
        let (a, b) = keys(profile)
        let packet = rtp(1, payload: [])
        let encrypted = try apply(packet, try SRTPContext(a).protectRTP)
        #expect(try apply(encrypted, try SRTPContext(b).unprotectRTP) == packet)
    }

    @Test func `Keys of the wrong length are refused`() {
        #expect(throws: SRTPError.malformed) { try SRTPContext(SRTPKeys(profile: .aes128GCM, local: [1], remote: [2])) }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Arbitrary bytes never trap`(profile: SRTPProfile) throws {
        let context = try SRTPContext(keys(profile).0)
        var random = SeededRandom(seed: 4711)
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 0...120, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(throws: SRTPError.self) { try apply(bytes, context.unprotectRTP) }
            #expect(throws: SRTPError.self) { try apply(bytes, context.unprotectRTCP) }
        }
    }
}
