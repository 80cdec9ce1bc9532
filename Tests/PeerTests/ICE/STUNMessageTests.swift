import Basics
import Testing

@testable import Peer

@Suite struct STUNMessageTests {
    /// RFC 5769 §2: the password of all three vectors.
    static let password = "VOkJxbRl1RmTxUk/WvJxBt"

    static func bytes(_ hex: String) -> [UInt8] {
        hex.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) }
    }

    /// RFC 5769 §2.1.
    static let request = bytes(
        """
        00 01 00 58 21 12 a4 42 b7 e7 a7 01 bc 34 d6 86 fa 87 df ae
        80 22 00 10 53 54 55 4e 20 74 65 73 74 20 63 6c 69 65 6e 74
        00 24 00 04 6e 00 01 ff
        80 29 00 08 93 2f f9 b1 51 26 3b 36
        00 06 00 09 65 76 74 6a 3a 68 36 76 59 20 20 20
        00 08 00 14 9a ea a7 0c bf d8 cb 56 78 1e f2 b5 b2 d3 f2 49 c1 b5 71 a2
        80 28 00 04 e5 7a 3b cf
        """)
    /// RFC 5769 §2.2.
    static let response4 = bytes(
        """
        01 01 00 3c 21 12 a4 42 b7 e7 a7 01 bc 34 d6 86 fa 87 df ae
        80 22 00 0b 74 65 73 74 20 76 65 63 74 6f 72 20
        00 20 00 08 00 01 a1 47 e1 12 a6 43
        00 08 00 14 2b 91 f5 99 fd 9e 90 c3 8c 74 89 f9 2a f9 ba 53 f0 6b e7 d7
        80 28 00 04 c0 7d 4c 96
        """)
    /// RFC 5769 §2.3.
    static let response6 = bytes(
        """
        01 01 00 48 21 12 a4 42 b7 e7 a7 01 bc 34 d6 86 fa 87 df ae
        80 22 00 0b 74 65 73 74 20 76 65 63 74 6f 72 20
        00 20 00 14 00 02 a1 47 01 13 a9 fa a5 d3 f1 79 bc 25 f4 b5 be d2 b9 d9
        00 08 00 14 a3 82 95 4e 4b e6 7b f1 17 84 c9 7c 82 92 c2 75 bf e3 ed 41
        80 28 00 04 c8 fb 0b 4c
        """)

    /// RFC 8489 §14.5 and §14.7.
    @Test func theSampleRequestIsRead() throws {
        try Self.request.withUnsafeBytes { bytes in
            let message = try #require(STUNMessage(parsing: bytes))
            #expect(message.messageClass == .request)
            #expect(message.username == "evtj:h6vY")
            #expect(message.priority == 0x6E00_01FF)
            #expect(message.iceControlled == 0x932F_F9B1_5126_3B36)
            #expect(message.hasFingerprint)
            #expect(message.unknownAttributes.isEmpty)
            #expect(message.isAuthentic(bytes, password: Self.password))
            #expect(!message.isAuthentic(bytes, password: "wrong"))
        }
    }

    @Test(arguments: [(response4, "192.0.2.1:32853"), (response6, "[2001:db8:1234:5678:11:2233:4455:6677]:32853")])
    func theSampleResponsesAreRead(_ sample: [UInt8], address: String) throws {
        try sample.withUnsafeBytes { bytes in
            let message = try #require(STUNMessage(parsing: bytes))
            #expect(message.messageClass == .success)
            #expect(message.xorMappedAddress == SocketAddress(address))
            #expect(message.isAuthentic(bytes, password: Self.password))
        }
    }

    /// RFC 8489 §5, RFC 8445 §16.
    @Test func whatIsWrittenIsRead() throws {
        var message = STUNMessage(.request, transaction: .init(high: 1, low: 2))
        message.username = "ab:cde"
        message.priority = 7
        message.useCandidate = true
        message.iceControlling = 0x0102_0304_0506_0708
        try message.encoded(password: "secret").withUnsafeBytes { bytes in
            let read = try #require(STUNMessage(parsing: bytes))
            #expect(read.username == "ab:cde" && read.priority == 7 && read.useCandidate)
            #expect(read.iceControlling == 0x0102_0304_0506_0708)
            #expect(read.isAuthentic(bytes, password: "secret"))
        }
        var response = STUNMessage(.success, transaction: .init(high: 0xDEAD_BEEF, low: 42))
        response.xorMappedAddress = SocketAddress("[2001:db8::7]:9")
        response.encoded(password: "secret").withUnsafeBytes { bytes in
            #expect(STUNMessage(parsing: bytes)?.xorMappedAddress == SocketAddress("[2001:db8::7]:9"))
        }
    }

    @Test func everyFlippedBitIsNoticed() {
        for bit in 0..<Self.response4.count * 8 {
            var broken = Self.response4
            broken[bit / 8] ^= 1 << (bit % 8)
            broken.withUnsafeBytes { bytes in
                // Only a flip of the FINGERPRINT's own type leaves a message without one, and that still is authentic.
                if let message = STUNMessage(parsing: bytes) { #expect(!message.hasFingerprint) }
            }
        }
    }

    @Test func everyCutIsRefused() {
        for length in 0..<Self.request.count {
            Array(Self.request[..<length]).withUnsafeBytes { #expect(STUNMessage(parsing: $0) == nil) }
        }
    }
}

@Suite struct DemultiplexerTests {
    static func flow(_ port: UInt16) -> Flow {
        Flow(.udp, local: SocketAddress(.v4(1), port: 1), remote: SocketAddress(.v4(2), port: port))
    }
    static func check(_ ufrag: String) -> [UInt8] {
        var message = STUNMessage(.request, transaction: .init(high: 1, low: 1))
        message.username = "\(ufrag):x"
        return message.encoded(password: "p")
    }
    static let media: [UInt8] = [0x80, 96, 0, 0]

    @Test(
        arguments: [
            ([0, 1], DatagramKind.stun), ([22, 254], .dtls), ([0x80, 96], .rtp), ([0x80, 0xE0], .rtp),
            ([0x80, 200], .rtcp),
            ([0x81, 206], .rtcp), ([64, 0], .other), ([0x80], .other), ([], .other),
        ] as [([UInt8], DatagramKind)]) func kindsAreTold(_ bytes: [UInt8], kind: DatagramKind)
    {
        #expect(bytes.withUnsafeBytes { DatagramKind($0) } == kind)
    }

    /// Routes a datagram and claims the flow for whom it went to, as a host does.
    @discardableResult
    static func take(
        _ bytes: [UInt8], _ table: inout Demultiplexer<Int>, port: UInt16, _ claim: FlowClaim = .checked,
        held: Set<Int> = []
    ) -> Int? {
        let id = bytes.withUnsafeBytes { table.route($0, flow: flow(port)) }
        if let id { table.claim(flow(port), by: id, claim) { held.contains($0) } }
        return id
    }

    @Test func checksOpenTheWayForMedia() {
        var table = Demultiplexer<Int>()
        table.add(ufrag: "a", 1)
        #expect(Self.take(Self.media, &table, port: 5) == nil)
        #expect(Self.take(Self.check("z"), &table, port: 5) == nil)
        #expect(Self.take(Self.check("a"), &table, port: 5) == 1)
        #expect(Self.take(Self.media, &table, port: 5) == 1)
        table.remove(1)
        #expect(Self.take(Self.media, &table, port: 5) == nil)
        #expect(Self.take(Self.check("a"), &table, port: 5) == nil)
        #expect(table.flowCount == 0)
    }

    @Test(
        "of two demultiplexers on one port, each finds every peer by its fragment, and a flow where it was bound"
    )
    func sharedFragments() {
        let ufrags = UfragTable<Int>()
        var (first, second) = (Demultiplexer(ufrags: ufrags), Demultiplexer(ufrags: ufrags))
        first.add(ufrag: "a", 1)
        second.add(ufrag: "a", 2)
        #expect(Self.take(Self.check("a"), &second, port: 5) == 1)
        #expect(second.owner(of: Self.flow(5)) == 1 && first.owner(of: Self.flow(5)) == nil)
        #expect(Self.take(Self.media, &second, port: 5) == 1)
        // A forged check of another peer takes nothing of it here either.
        first.add(ufrag: "b", 3)
        #expect(Self.take(Self.check("b"), &second, port: 5, held: [1]) == 3)
        #expect(Self.take(Self.media, &second, port: 5) == 1)
        first.remove(1)
        #expect(Self.take(Self.check("a"), &second, port: 6) == nil, "the fragment is gone for both")
        second.remove(1)
        #expect(Self.take(Self.media, &second, port: 5) == nil && second.flowCount == 0)
    }

    @Test func aFragmentAloneTakesNoFlow() {
        var table = Demultiplexer<Int>()
        table.add(ufrag: "a", 1)
        table.add(ufrag: "b", 2)
        Self.take(Self.check("a"), &table, port: 5)
        // The check goes to whom it names, but was not authentic there.
        #expect(Self.take(Self.check("b"), &table, port: 5, .none) == 2)
        #expect(Self.take(Self.media, &table, port: 5) == 1)
        #expect(Self.take(Self.check("b"), &table, port: 6, .none) == 2)
        #expect(Self.take(Self.media, &table, port: 6) == nil)
    }

    @Test func anAuthenticCheckTakesNoFlowThatItsOwnerHolds() {
        var table = Demultiplexer<Int>()
        table.add(ufrag: "a", 1)
        table.add(ufrag: "b", 2)
        Self.take(Self.check("a"), &table, port: 5)
        Self.take(Self.check("b"), &table, port: 5, held: [1])
        #expect(Self.take(Self.media, &table, port: 5) == 1)
        // The answer to our check of the claim goes to the claimant too.
        let answer = STUNMessage(.success, transaction: .init(high: 1, low: 1)).encoded(password: "p")
        #expect(answer.withUnsafeBytes { table.claimant(of: $0, flow: Self.flow(5)) } == 2)
        #expect(Self.media.withUnsafeBytes { table.claimant(of: $0, flow: Self.flow(5)) } == nil)
        table.claim(Self.flow(5), by: 2, .answered) { $0 == 1 }
        #expect(Self.take(Self.media, &table, port: 5) == 2)
        #expect(answer.withUnsafeBytes { table.claimant(of: $0, flow: Self.flow(5)) } == nil)
    }

    @Test func anAddressThatChangesHandsFollowsTheNewUser() {
        var table = Demultiplexer<Int>()
        table.add(ufrag: "a", 1)
        table.add(ufrag: "b", 2)
        Self.take(Self.check("a"), &table, port: 5)
        Self.take(Self.check("b"), &table, port: 5)
        #expect(Self.take(Self.media, &table, port: 5) == 2)
        table.remove(1)
        #expect(Self.take(Self.media, &table, port: 5) == 2)
    }

    @Test func onePeerTakesNoRoomOfOthers() {
        var table = Demultiplexer<Int>(flowsPerPeer: 16)
        for id in 0..<300 { table.add(ufrag: "u\(id)", id) }
        for id in 0..<300 {
            for port in 0..<16 { Self.take(Self.check("u\(id)"), &table, port: UInt16(1000 + id * 100 + port)) }
        }
        #expect(table.flowCount == 300 * 16)
        // The flow that has gone without a check for the longest makes place.
        Self.take(Self.check("u0"), &table, port: 1000)
        Self.take(Self.check("u0"), &table, port: 1099)
        #expect(table.flowCount == 300 * 16)
        #expect(Self.take(Self.media, &table, port: 1000) == 0)
        #expect(Self.take(Self.media, &table, port: 1001) == nil)
        #expect(Self.take(Self.media, &table, port: 1099) == 0)
    }

    @Test func fragmentsChangeWithTheirPeerAndAreNotTaken() {
        var table = Demultiplexer<Int>()
        table.setUfrags(["a", "b"], of: 1)
        table.setUfrags(["b", "c"], of: 2)
        #expect(Self.take(Self.check("b"), &table, port: 1) == 1)
        table.setUfrags(["a"], of: 1)
        #expect(Self.take(Self.check("b"), &table, port: 2) == nil)
        #expect(Self.take(Self.check("c"), &table, port: 2) == 2)
        table.remove(2)
        #expect(Self.take(Self.check("c"), &table, port: 3) == nil)
        #expect(Self.take(Self.check("a"), &table, port: 3) == 1)
    }

    @Test func aClosedConnectionTellsWhoseItWas() {
        var table = Demultiplexer<Int>()
        table.add(ufrag: "a", 1)
        Self.take(Self.check("a"), &table, port: 5)
        let owner = table.remove(Self.flow(5))
        let stranger = table.remove(Self.flow(6))
        #expect(owner == 1 && stranger == nil)
    }
}
