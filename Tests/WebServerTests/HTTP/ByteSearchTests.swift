import Basics
import Testing

@testable import WebServer

@Suite struct ByteSearchTests {
    /// Bytes that count how often they are read.
    private final class Reads {
        var count = 0
    }

    private struct CountedBytes: RandomAccessCollection {
        let bytes: [UInt8]
        let reads = Reads()
        var startIndex: Int { 0 }
        var endIndex: Int { bytes.count }
        subscript(index: Int) -> UInt8 {
            reads.count += 1
            return bytes[index]
        }
    }

    @Test(
        arguments: [
            ("aab", "aaaab", 2), ("abab", "abacabab", 4), ("a", "a", 0), ("ab", "a", nil), ("abc", "ababab", nil),
            ("aa", "baa", 1), ("--x", "---x", 1),
        ] as [(String, String, Int?)])
    func `a pattern is found at its first place`(pattern: String, text: String, place: Int?) {
        #expect(ByteSearch(Array(pattern.utf8)).first(in: Array(text.utf8), from: 0) == place)
    }

    @Test func `a search begins and ends where it should`() {
        let (search, bytes) = (ByteSearch([1, 1, 2]), [1, 1, 2, 1, 1, 1, 2, 1] as [UInt8])
        #expect((0...8).map { search.first(in: bytes, from: $0) } == [0, 4, 4, 4, 4, nil, nil, nil, nil])
        #expect((0...6).map { search.first(in: bytes, from: 1, upTo: $0) } == [nil, nil, nil, nil, nil, 4, 4])
        #expect(search.first(in: bytes, from: -3) == 0 && search.first(in: bytes, from: 99) == nil)
        #expect(search.first(in: [], from: 0) == nil && search.first(in: [1], from: 0, upTo: -5) == nil)
    }

    @Test func `random bytes are searched as by comparing everywhere`() {
        var random = SeededRandom(seed: 23)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...1, using: &random)
            }
            let pattern = (0..<Int.random(in: 1...6, using: &random)).map { _ in UInt8.random(in: 0...1, using: &random)
            }
            let expected = bytes.indices.first { bytes[$0...].starts(with: pattern) }
            #expect(ByteSearch(pattern).first(in: bytes, from: 0) == expected, "\(pattern) in \(bytes)")
        }
    }

    @Test(arguments: [String(repeating: "-", count: 69) + "x", String(repeating: "ab", count: 35) + "c", "x"])
    func `every byte is read once, whatever the boundary`(boundary: String) {
        let dashes = CountedBytes(bytes: Array(repeating: 45, count: 100_000))
        let pairs = CountedBytes(bytes: Array(repeatElement([97, 98], count: 50_000).joined()))
        for bytes in [dashes, pairs] {
            #expect(ByteSearch(Array(boundary.utf8)).first(in: bytes, from: 0) == nil)
            #expect(bytes.reads.count <= 100_000)
        }
    }
}
