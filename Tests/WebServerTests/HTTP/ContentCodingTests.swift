import Testing

@testable import WebServer

@Suite struct ContentCodingTests {
    private static let all: [ContentCoding] = [.brotli, .gzip, .identity]

    private static let cases: [(String?, ContentCoding)] = [
        (nil, .identity),
        ("", .identity),
        ("gzip, deflate, br, zstd", .brotli),
        ("gzip, deflate", .gzip),
        ("GZIP", .gzip),
        ("x-gzip", .gzip),
        ("deflate, zstd", .identity),
        ("br;q=0.5, gzip;q=0.8", .gzip),
        ("br ; q=1 , gzip\t; q=0.999", .brotli),
        ("br;q=0, *", .gzip),
        ("*", .brotli),
        ("*;q=0, gzip;q=0.001", .gzip),
        ("gzip;q=0.5, identity", .identity),
        ("gzip;q=0.5, identity;q=0", .gzip),
        // No coding that there is, and not as it is: RFC 9110 §12.5.3 leaves it to the server, which sends it as it is.
        ("identity;q=0", .identity),
        ("*;q=0", .identity),
        ("br;q=0, gzip;q=0", .identity),
        // Weights that are none exclude.
        ("br;q=2, gzip", .gzip), ("br;q=nan, gzip", .gzip), ("br;q=-1, gzip", .gzip), ("br;q=, gzip", .gzip),
        (",,;;q=1,;", .identity),
    ]

    @Test(arguments: cases)
    func `the coding with the highest weight is chosen`(accepted: String?, coding: ContentCoding) {
        #expect(ContentCoding.choose(accepted, of: Self.all) == coding)
    }

    @Test func `only a coding that the file has`() {
        #expect(ContentCoding.choose("br, gzip", of: [.gzip, .identity]) == .gzip)
        #expect(ContentCoding.choose("br, gzip", of: [.identity]) == .identity)
    }

    @Test func `a long header is read to a bound`() {
        let many = (0..<10_000).map { "c\($0)" }.joined(separator: ",")
        #expect(ContentCoding.choose(many + ",br", of: Self.all) == .identity)
        #expect(ContentCoding.choose("br," + many, of: Self.all) == .brotli)
    }
}
