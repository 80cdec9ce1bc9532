import Testing

@testable import WebServer

@Suite struct ByteRangeTests {
    @Test(arguments: [
        (nil, ByteRange.whole), ("bytes=0-0", .part(0...0)), ("bytes=0-", .part(0...99)),
        ("bytes=10-19", .part(10...19)),
        ("bytes=90-1000", .part(90...99)), ("bytes=-5", .part(95...99)), ("bytes=-500", .part(0...99)),
        ("Bytes=1-2", .part(1...2)),
        ("bytes=100-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=99999999999999999999-", .unsatisfiable),
        ("bytes=5-4", .whole), ("bytes=0-1,3-4", .whole), ("lines=1-2", .whole), ("bytes=", .whole),
        ("bytes=-", .whole),
        ("bytes=a-b", .whole), ("bytes=--5", .whole), ("bytes", .whole),
    ])
    func `ranges of a file of 100 bytes`(header: String?, range: ByteRange) {
        #expect(ByteRange(header: header, size: 100) == range)
    }

    @Test func `an empty file has no range`() {
        #expect(ByteRange(header: "bytes=0-", size: 0) == .unsatisfiable)
        #expect(ByteRange(header: "bytes=-1", size: 0) == .unsatisfiable)
    }
}

@Suite struct OriginPolicyTests {
    @Test(arguments: [
        (nil, true), ("http://meet.example:8080", true), ("https://meet.example:8080", true),
        ("http://evil.example", false),
        ("https://friend.example", true), ("https://friend.example:443", true), ("http://friend.example", false),
        ("null", false),
        ("https://meet.example:9", false),
    ])
    func `own pages and listed ones pass`(origin: String?, isAllowed: Bool) {
        let policy = OriginPolicy(allowed: ["https://friend.example"])
        #expect(policy.allows(origin: origin, hosts: ["meet.example:8080"]) == isAllowed)
    }

    @Test func `a star allows every page, and a proxy may terminate TLS`() {
        #expect(OriginPolicy(allowed: ["*"]).allows(origin: "https://x.example", hosts: []))
        #expect(OriginPolicy(allowed: []).allows(origin: "https://meet.example", hosts: ["meet.example"]))
        #expect(OriginPolicy(allowed: []).allows(origin: "http://[::1]:8080", hosts: ["[::1]:8080"]))
    }
}
