import Basics
import Testing

@Suite struct HexadecimalTests {
    @Test(
        arguments: [
            ([], ""), ([0], "00"), ([0x0F], "0f"), ([0xF0], "f0"), ([0, 0xAB, 0xCD, 0xEF, 1], "00abcdef01"),
            (Array("Tessera".utf8), "54657373657261"),
        ] as [([UInt8], String)])
    func `bytes and their digits`(bytes: [UInt8], text: String) {
        #expect(Hexadecimal.encode(bytes) == text)
        #expect(Hexadecimal.encode(AnySequence(bytes)) == text, "whatever holds them")
    }

    @Test func `each byte has two digits, which have its value`() {
        for byte in UInt8.min ... .max {
            for text in [Hexadecimal.encode([byte]), Hexadecimal.encode([byte]).uppercased()] {
                let values = text.utf8.compactMap { Hexadecimal.value(ofDigit: $0) }
                #expect(values.count == 2 && values[0] << 4 | values[1] == byte)
            }
        }
    }

    @Test func `22 bytes are digits, and no other is`() {
        let digits = (UInt8.min ... .max).filter { Hexadecimal.value(ofDigit: $0) != nil }
        #expect(digits == Array("0123456789ABCDEFabcdef".utf8))
    }
}
