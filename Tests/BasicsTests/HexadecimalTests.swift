import Basics
import Testing

@Suite struct HexadecimalTests {
    /// The third is of RFC 4648 §10.
    @Test(
        arguments: [
            ([], ""), ([0, 9, 10, 15, 16, 0x7F, 0xA0, 0xFF], "00090a0f107fa0ff"),
            (Array("foobar".utf8), "666f6f626172"),
        ] as [([UInt8], String)])
    func `a byte has two digits in lower case`(bytes: [UInt8], text: String) {
        #expect(Hexadecimal.encode(bytes) == text)
        #expect(Hexadecimal.encode(bytes[...]) == text, "of a slice too")
    }

    @Test func `digits of either case have values, and other bytes have none`() {
        var found: [Character: UInt8] = [:]
        for byte in UInt8.min...UInt8.max {
            if let value = Hexadecimal.value(of: byte) { found[Character(Unicode.Scalar(byte))] = value }
        }
        #expect(found.count == 22)
        for (value, digit) in "0123456789abcdef".enumerated() {
            #expect(found[digit] == UInt8(value))
            #expect(digit.uppercased().first.flatMap { found[$0] } == UInt8(value))
        }
    }
}
