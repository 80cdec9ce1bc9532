import Basics
import Testing

@testable import Streaming

@Suite struct AddressPolicyTests {
    private func policy(_ hosts: String...) -> AddressPolicy {
        AddressPolicy(schemes: ["rtmp", "srt"], hosts: hosts.compactMap { HostPattern($0) }, key: "streams.hosts")
    }

    private func refusal(_ policy: AddressPolicy, _ text: String) throws -> String? {
        let url = try #require(MediaURL(text))
        do throws(StreamingError) { try policy.check(url) } catch { return "\(error)" }
        return nil
    }

    @Test(arguments: [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255", "198.18.0.1", "[::1]", "[::]", "[fe80::1]", "[fd00::1]", "[ff02::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]",
    ]) func `Addresses that are not public are refused where no list has them`(_ host: String) throws {
        #expect(try refusal(policy(), "rtmp://\(host)/a/b")?.contains("streams.hosts must list it") == true)
        #expect(try refusal(policy("*"), "rtmp://\(host)/a/b") != nil)
    }

    @Test(arguments: ["8.8.8.8", "[2a00:1450::1]", "[64:ff9b::808:808]"])
    func `Public addresses are permitted where there is no list, or one that has them`(_ host: String) throws {
        #expect(try refusal(policy(), "rtmp://\(host)/a/b") == nil)
        #expect(try refusal(policy("*", "10.0.0.0/8"), "rtmp://\(host)/a/b") == nil)
        #expect(try refusal(policy("live.example"), "rtmp://\(host)/a/b")?.contains("does not list") == true)
    }

    @Test func `A list permits what it has and nothing else`() throws {
        let listed = policy("10.1.0.0/16", "live.example", "*.cdn.example")
        #expect(try refusal(listed, "rtmp://10.1.2.3/a/b") == nil)
        #expect(try refusal(listed, "rtmp://10.2.0.1/a/b") != nil)
        // A listed name may have any address, another one only those of the list.
        let local = IPAddress.v4(0x0A02_0001)
        #expect(listed.permits(local, of: "live.example"))
        #expect(listed.permits(local, of: "a.cdn.example."))
        #expect(!listed.permits(local, of: "cdn.example"))
        #expect(!listed.permits(local, of: "evil-cdn.example"))
        #expect(!listed.permits(.v4(0x0808_0808), of: "other.example"))
        #expect(try refusal(policy("live.example"), "rtmp://other.example/a/b")?.contains("other.example") == true)
    }

    @Test func `Other schemes are refused, with those that are permitted`() throws {
        for text in ["http://live.example/a", "tcp://live.example:1", "file://localhost/etc/passwd"] {
            #expect(try refusal(policy(), text)?.contains("rtmp, srt") == true)
        }
    }

    @Test func `A name is judged by the addresses that it has`() throws {
        let url = try #require(MediaURL("rtmp://localhost/a/b"))
        #expect(throws: StreamingError.self) { try policy().resolve(url) }
        let found = try policy("localhost").resolve(url)
        #expect(!found.isEmpty && found.allSatisfy(\.isLoopback))
        #expect(throws: StreamingError.failed("The name no-such-host.invalid has no address.")) {
            try policy().resolve(try #require(MediaURL("rtmp://no-such-host.invalid/a/b")))
        }
    }

    @Test(arguments: ["", "a b", "*.", "*", "10.0.0.0/33", "http://a", "a:1", "*.*.example"])
    func `What is no host is no entry`(_ text: String) {
        #expect(HostPattern(text) == (text == "*" ? .everyPublic : nil))
    }
}
