import Testing

@testable import Peer

@Suite("SSRCs") struct SSRCTests {
    @Test(
        "SDP writes them as decimal numbers of 32 bits",
        arguments: [("0", 0), ("4294967295", .max), ("4294967296", nil), ("-1", nil), ("x", nil)]
            as [(Substring, UInt32?)])
    func text(text: Substring, value: UInt32?) {
        let ssrc = SSRC(text)
        #expect(ssrc?.rawValue == value)
        if let ssrc { #expect(ssrc.description == String(text)) }
    }

    @Test("SSRCs are ordered by their numbers")
    func order() {
        #expect(([0x8000_0000, 7, 0xFFFF_FFFF] as [SSRC]).sorted() == [7, 0x8000_0000, 0xFFFF_FFFF])
    }
}
