import Testing

@testable import Peer

@Suite struct SRTPSessionKeysTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private let master: [UInt8] = [
        0xE1, 0xF9, 0x7A, 0x0D, 0x3E, 0x01, 0x8B, 0xE0, 0xD6, 0x4F, 0xA3, 0x2C, 0x06, 0xDE, 0x41, 0x39,
        0x0E, 0xC6, 0x75, 0xAD, 0x49, 0x8A, 0xFE, 0xEB, 0xB6, 0x96, 0x0B, 0x3A, 0xAB, 0xE6,
    ]

    @Test func `The keys of RFC 3711 B.3 are derived`() throws {
        let keys = try SRTPSessionKeys(.aes128CounterSHA1_80, master: master, isReport: false)
        #expect(hex(keys.encryption) == "c61e7a93744f39ee10734afe3ff7a087")
        #expect(hex(keys.salt) == "30cbbc08863d8c85d49db34a9ae1")
        #expect(hex(keys.authentication) == "cebe321f6ff7716b6fd4ab49af256a156d38baa4")
    }

    @Test(arguments: SRTPProfile.allCases)
    func `Every key has its length, and RTCP has keys of its own`(profile: SRTPProfile) throws {
        let master = (0..<profile.keyLength + profile.saltLength).map { UInt8($0) }
        let media = try SRTPSessionKeys(profile, master: master, isReport: false)
        let reports = try SRTPSessionKeys(profile, master: master, isReport: true)
        for keys in [media, reports] {
            #expect(keys.encryption.count == profile.keyLength)
            #expect(keys.salt.count == profile.saltLength)
            #expect(keys.authentication.count == (profile.isAuthenticatedCipher ? 0 : 20))
        }
        #expect(media.encryption != reports.encryption)
        #expect(media.salt != reports.salt)
    }
}
