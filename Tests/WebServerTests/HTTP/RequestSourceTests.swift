import Basics
import Testing

@testable import WebServer

@Suite struct RequestSourceTests {
    private let proxies = ["127.0.0.1", "10.0.0.0/8"].compactMap { IPNetwork($0) }

    private func source(
        _ remote: String, host: String? = "meet.example", trusted: Bool = true, _ headers: [(String, String)] = []
    ) -> RequestSource {
        RequestSource(
            remote: IPAddress(remote), local: IPAddress("127.0.0.1"), host: host,
            headers: ProxyHeaders(headers.map { (name: $0.0, value: $0.1) }), trustedProxies: trusted ? proxies : [])
    }

    @Test(arguments: [
        // The proxy's client is the last entry; any client may have written the entries before it.
        ("198.51.100.7", "198.51.100.7"), ("1.1.1.1, 198.51.100.7", "198.51.100.7"),
        ("198.51.100.7, 10.1.1.1", "198.51.100.7"),
        ("1.1.1.1, 198.51.100.7, 10.1.1.1, 10.2.2.2", "198.51.100.7"), ("10.1.1.1, 10.2.2.2", "10.1.1.1"),
        ("198.51.100.7:4711", "198.51.100.7"), ("[2001:db8::1]:4711", "2001:db8::1"), ("2001:db8::1", "2001:db8::1"),
        // An entry that is no address is ignored: the proxy itself counts.
        ("unknown", "127.0.0.1"), ("198.51.100.7, unknown", "127.0.0.1"), ("", "127.0.0.1"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
    ])
    func `behind a trusted proxy the last address that is no trusted proxy counts`(header: String, client: String) {
        #expect(source("127.0.0.1", [("x-forwarded-for", header)]).client == IPAddress(client))
    }

    @Test(arguments: [
        ("for=198.51.100.7", "198.51.100.7"), ("for=1.1.1.1, for=198.51.100.7;proto=https", "198.51.100.7"),
        ("for=\"[2001:db8::1]:4711\";host=meet.example", "2001:db8::1"), ("For=198.51.100.7", "198.51.100.7"),
        ("for=_hidden", "127.0.0.1"),
        ("nonsense", "127.0.0.1"),
    ])
    func `the addresses of Forwarded`(header: String, client: String) {
        #expect(source("127.0.0.1", [("forwarded", header)]).client == IPAddress(client))
    }

    @Test func `headers of other senders are ignored`() {
        let headers = [("x-forwarded-for", "198.51.100.7"), ("x-forwarded-host", "other.example")]
        let stranger = source("203.0.113.9", headers)
        #expect(stranger.client == IPAddress("203.0.113.9") && stranger.hosts == ["meet.example"])
        let local = source("127.0.0.1", trusted: false, headers)
        #expect(local.client == IPAddress("127.0.0.1") && local.hosts == ["meet.example"])
        #expect(source("127.0.0.1", headers).hosts == ["meet.example", "other.example"])
    }

    @Test(arguments: [
        "localhost", "localhost:8080", "127.0.0.1", "127.0.0.1:8080", "127.3.2.1", "[::1]", "[::1]:8080", "LOCALHOST",
        "localhost.",
    ])
    func `an administrator without a token is on this machine and uses its loopback name`(host: String) {
        #expect(source("127.0.0.1", host: host, trusted: false).isLocalAdministrator)
        #expect(source("::1", host: host, trusted: false).isLocalAdministrator)
        #expect(!source("203.0.113.9", host: host, trusted: false).isLocalAdministrator)
        #expect(!source("127.0.0.1", host: host).isLocalAdministrator, "a trusted proxy brings somebody else")
    }

    @Test(arguments: [
        nil, "", "evil.example", "meet.example:8080", "192.168.1.5", "0.0.0.0", "localhost.evil.example",
        "127.0.0.1.evil.example", "[::]",
    ])
    func `a sender with any other name is no administrator`(host: String?) {
        #expect(!source("127.0.0.1", host: host, trusted: false).isLocalAdministrator)
    }

    @Test(arguments: [
        "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port",
        "x-forwarded-anything", "via", "x-real-ip",
        "cf-connecting-ip", "cf-ray", "cf-visitor", "true-client-ip", "x-client-ip", "x-cluster-client-ip",
        "fastly-client-ip", "cdn-loop",
    ])
    func `a sender with a proxy's header is no administrator`(name: String) {
        #expect(!source("127.0.0.1", host: "localhost", trusted: false, [(name, "1")]).isLocalAdministrator)
    }

    @Test func `a long list of hops is cut`() {
        let list = Array(repeating: "10.0.0.1", count: 10_000).joined(separator: ",")
        #expect(ProxyHeaders([(name: "x-forwarded-for", value: list)]).hops.count == 32)
    }
}

@Suite struct HostPolicyTests {
    private func refuses(
        _ host: String?, at local: String = "192.168.1.5", from remote: String = "192.168.1.9",
        _ policy: HostPolicy? = nil
    ) -> Bool {
        let policy = policy ?? HostPolicy(hosts: ["meet.example"], machineName: "box.example", isProvenByTLS: false)
        return policy.mayBeRebinding(
            RequestSource(
                remote: IPAddress(remote), local: IPAddress(local), host: host,
                headers: ProxyHeaders([(name: String, value: String)]()),
                trustedProxies: ["192.168.1.77"].compactMap { IPNetwork($0) }))
    }

    @Test(arguments: [
        "192.168.1.5", "192.168.1.5:8080", "[fd00::1]:8080", "localhost:8080", "meet.example", "MEET.example:8080",
        "meet.example.", "box.example",
        "box", "box.local", "box.lan", "tessera", nil,
    ])
    func `addresses, known names and local names pass`(host: String?) { #expect(!refuses(host)) }

    @Test(arguments: [
        "evil.example", "evil.example:8080", "meet.example.evil.example", "192.168.1.5.evil.example", "xmeet.example",
        "", "a b", "evil.local",
    ])
    func `a name that anybody may own is refused at private addresses`(host: String) {
        for local in ["192.168.1.5", "127.0.0.1", "::1", "10.0.0.1", "fd00::1", "fe80::1", "100.64.0.1"] {
            #expect(refuses(host, at: local))
        }
    }

    @Test func `on loopback an unknown short name is refused too`() {
        #expect(refuses("tessera", at: "127.0.0.1"))
        #expect(!refuses("box", at: "127.0.0.1"))
    }

    @Test func `a public address, a trusted proxy and a certificate need no check of names`() {
        #expect(!refuses("other.example", at: "203.0.113.5"))
        #expect(!refuses("other.example", from: "192.168.1.77"))
        #expect(!refuses("other.example", HostPolicy(hosts: [], machineName: "box", isProvenByTLS: true)))
        #expect(!refuses("other.example", HostPolicy(hosts: ["*"], machineName: "box", isProvenByTLS: false)))
        #expect(refuses("other.example", HostPolicy(hosts: [], machineName: "box", isProvenByTLS: false)))
    }
}
