import Basics
import Testing

@Suite struct SocketAddressTests {
    @Test(
        "addresses are read and printed in canonical form (RFC 5952)",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("::1", "::1"), ("::", "::"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:0DB8::0001", "2001:db8::1"), ("::ffff:192.0.2.1", "::ffff:c000:201"),
            ("fe80::1:2:3:4", "fe80::1:2:3:4"),
            ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"), ("1::", "1::"),
        ])
    func canonical(text: String, printed: String) {
        #expect(IPAddress(text)?.description == printed)
    }

    @Test(
        "what is no address is refused",
        arguments: [
            "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.", "+1.2.3.4", ":::", "1::2::3", "12345::", "g::",
            "1:2:3:4:5:6:7", ":1::",
            "fe80::1%eth0", "localhost", "1:2:3:4:5:6:7:8:9",
        ])
    func refused(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("an IPv6 address with a port is written in brackets")
    func ports() {
        #expect(SocketAddress("[2001:db8::1]:50000")?.description == "[2001:db8::1]:50000")
        #expect(SocketAddress("192.0.2.1:80") == SocketAddress(.v4(0xC000_0201), port: 80))
        #expect(SocketAddress("2001:db8::1:50000") == nil)
        #expect(SocketAddress("192.0.2.1:65536") == nil)
    }

    @Test("an IPv4-mapped address becomes the IPv4 address")
    func unmapped() {
        #expect(IPAddress("::ffff:127.0.0.1")?.unmapped == .v4(0x7F00_0001))
    }
}
