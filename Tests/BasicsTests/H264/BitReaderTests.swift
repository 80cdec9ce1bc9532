import Testing

@testable import Basics

@Suite("BitReader")
struct BitReaderTests {
    @Test("exponential Golomb codes are decoded, and a read past the end throws")
    func golomb() throws {
        // 1, 010, 011, 00100, then se: 010 (1), 011 (−1), 00100 (2)
        let bytes: [UInt8] = [0b1010_0110, 0b0100_0100, 0b1100_1000]
        var reader = BitReader(bytes.span)
        for expected: UInt32 in [0, 1, 2, 3] { #expect(try reader.unsigned() == expected) }
        for expected: Int32 in [1, -1, 2] { #expect(try reader.signed() == expected) }
        #expect(reader.position == 23)
        #expect((try? reader.bits(2)) == nil)
        let zeros = [UInt8](repeating: 0, count: 8)
        var endless = BitReader(zeros.span)
        #expect((try? endless.unsigned()) == nil)
    }
}
