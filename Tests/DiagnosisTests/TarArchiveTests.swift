import Testing

@testable import Diagnosis

@Suite struct TarArchiveTests {
    @Test("a header has the fields of ustar, and its sum")
    func header() {
        var archive = TarArchive(time: 1_700_000_000)
        archive.add("report/a.txt", Array("hello\n".utf8))
        let bytes = archive.bytes
        #expect(bytes.count == 512 * 4)
        func text(_ range: Range<Int>) -> String {
            String(decoding: bytes[range].prefix { $0 != 0 }, as: UTF8.self)
        }
        #expect(text(0..<100) == "report/a.txt" && text(100..<108) == "0000600")
        #expect(text(124..<136) == "00000000006" && text(136..<148) == "14524770400")
        #expect(bytes[156] == UInt8(ascii: "0") && text(257..<263) == "ustar" && text(263..<265) == "00")
        // The sum of the header with blanks in the place of the sum.
        let sum = bytes[0..<512].enumerated().reduce(0) {
            $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element))
        }
        #expect(text(148..<155) == "0" + String(sum, radix: 8) && bytes[154] == 0 && bytes[155] == 32)
        #expect(text(512..<518) == "hello\n" && bytes[518...].allSatisfy { $0 == 0 })
    }

    @Test("files fill whole blocks", arguments: [0, 1, 511, 512, 513])
    func blocks(size: Int) {
        var archive = TarArchive(time: 0)
        archive.add("a", [UInt8](repeating: 7, count: size))
        #expect(archive.bytes.count == 512 * (1 + (size + 511) / 512 + 2))
    }
}
