import Basics
import Testing

@testable import Peer

@Suite struct StreamIdentificationTests {
    @Test func `Streams are latched by MID, paired by section and forgotten by BYE`() throws {
        var streams = StreamIdentification(
            sections: [
                .init(index: 0, mid: "a", payloadTypes: [111]),
                .init(index: 1, mid: "v", payloadTypes: [96], retransmissionPayloadTypes: [97: 96]),
                .init(index: 2, mid: "w", payloadTypes: [96], retransmissionPayloadTypes: [97: 96]),
            ], extensions: .init(mid: 4))
        func packet(_ type: UInt8, _ ssrc: UInt8, mid: UInt8? = nil) -> [UInt8] {
            let head: [UInt8] = [mid == nil ? 0x80 : 0x90, type, 0, 1, 0, 0, 0, 0, 0, 0, 0, ssrc]
            return head + (mid.map { [0xBE, 0xDE, 0, 1, 0x40, $0, 0, 0] } ?? []) + [1, 2, 3]
        }
        func identify(_ bytes: [UInt8]) throws -> StreamIdentification.Stream? {
            streams.identify(try RTPHeader(bytes), in: bytes.span, at: .zero)
        }
        #expect(try identify(packet(111, 1))?.section == 0)
        #expect(try identify(packet(96, 2)) == nil)  // two sections have this payload type
        #expect(try identify(packet(96, 2, mid: UInt8(ascii: "w")))?.section == 2)
        #expect(try identify(packet(96, 2))?.section == 2)
        let repair = try identify(packet(97, 3, mid: UInt8(ascii: "w")))
        #expect(repair?.isRetransmission == true && repair?.mediaSSRC == 2 && repair?.mediaPayloadType == 96)
        streams.forget(ssrc: 2)
        #expect(try identify(packet(96, 2)) == nil)
    }
}
