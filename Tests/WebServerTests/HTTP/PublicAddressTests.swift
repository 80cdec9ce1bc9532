import Basics
import Testing

@testable import WebServer

@Suite struct PublicAddressTests {
    private func address(
        publicURL: String = "", host: String?, usesTLS: Bool = false, isProxy: Bool = false,
        _ headers: [(String, String)] = []
    ) -> PublicAddress {
        let source = RequestSource(
            remote: IPAddress("10.0.0.1"), local: IPAddress("10.0.0.2"), host: host,
            headers: ProxyHeaders(headers.map { (name: $0.0, value: $0.1) }),
            trustedProxies: isProxy ? [IPNetwork("10.0.0.0/8")].compactMap { $0 } : [])
        return PublicAddress(publicURL: publicURL, source: source, usesTLS: usesTLS)
    }

    @Test func `without a proxy the connection and Host count`() {
        let plain = address(host: "192.0.2.1:8080")
        #expect(plain.http("/join/r") == "http://192.0.2.1:8080/join/r")
        #expect(plain.webSocket("/ws") == "ws://192.0.2.1:8080/ws")
        let secure = address(host: "meet.example", usesTLS: true)
        #expect(secure.webSocket("/ws") == "wss://meet.example/ws" && secure.authority == "meet.example")
    }

    @Test func `a trusted proxy names scheme and host, any other client does not`() {
        let headers = [("x-forwarded-proto", "https"), ("x-forwarded-host", "meet.example")]
        #expect(address(host: "inner:8080", isProxy: true, headers).http("/") == "https://meet.example/")
        #expect(address(host: "inner:8080", isProxy: false, headers).http("/") == "http://inner:8080/")
        let forwarded = [("forwarded", "for=198.51.100.7;host=meet.example:8443;proto=HTTPS")]
        #expect(address(host: "inner", isProxy: true, forwarded).authority == "meet.example:8443")
        #expect(address(host: "inner", isProxy: true, forwarded).isSecure)
    }

    @Test func `publicURL comes before everything`() {
        let headers = [("x-forwarded-proto", "http"), ("x-forwarded-host", "other.example")]
        let own = address(publicURL: "https://meet.example:443", host: "inner", isProxy: true, headers)
        #expect(own.webSocket("/ws") == "wss://meet.example/ws")
    }

    @Test(arguments: [nil, "", "a b", "x\"y", "evil.example/path?", "a:99999"])
    func `a name that is none is not repeated in answers`(host: String?) {
        #expect(address(host: host).http("/") == "http://localhost/")
    }
}
