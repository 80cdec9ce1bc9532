import Basics
import Testing

@Suite struct IPNetworkTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.1.2.3/8", "10.9.9.9", true),
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.6", false), ("0.0.0.0/0", "203.0.113.9", true),
        ("0.0.0.0/0", "::1", false), ("::/0", "2001:db8::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("2001:db8::/33", "2001:db8:7fff::1", true), ("fd00::1/128", "fd00::1", true),
        ("fd00::1/127", "fd00::2", false),
        ("10.0.0.0/8", "::ffff:10.1.1.1", true), ("::ffff:10.0.0.0/104", "10.1.1.1", true),
        ("2001:db8::/64", "2001:db8::ffff", true),
        ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
    ])
    func `a network contains the addresses with its prefix`(network: String, address: String, isInside: Bool) throws {
        let network = try #require(IPNetwork(network))
        #expect(network.contains(try #require(IPAddress(address))) == isInside)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "::/129", "10.0.0.0/8/8", "host/8",
        "10.0.0.0/+8",
    ])
    func `malformed networks are refused`(text: String) { #expect(IPNetwork(text) == nil) }

    @Test func `a network is written with its own address`() {
        #expect(IPNetwork("10.1.2.3/8")?.description == "10.0.0.0/8")
        #expect(IPNetwork("2001:db8::1")?.description == "2001:db8::1/128")
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("10.0.0.1", true), ("172.16.0.1", true), ("172.32.0.1", false), ("192.168.9.9", true),
        ("100.64.0.1", true),
        ("169.254.1.1", true), ("::1", true), ("fe80::1", true), ("fd99::1", true), ("203.0.113.9", false),
        ("2001:db8::1", false),
        ("::ffff:192.168.0.1", true), ("8.8.8.8", false),
    ])
    func `local scope is recognized`(text: String, isLocal: Bool) throws {
        #expect(try #require(IPAddress(text)).isLocalScope == isLocal)
    }
}
