import Testing

@testable import Call

@Suite struct SignallingAddressTests {
    @Test(
        "what people type leads to /signal",
        arguments: [
            ("http://h:8080", "h", 8080, false, "/signal"), ("https://h", "h", 443, true, "/signal"),
            ("h:9", "h", 9, false, "/signal"),
            ("wss://h/signal?x=1", "h", 443, true, "/signal?x=1"), ("http://[::1]:80/", "::1", 80, false, "/signal"),
            ("http://h/r/demo", "h", 80, false, "/signal"),
        ])
    func read(text: String, host: String, port: Int, isSecure: Bool, path: String) throws {
        let address = try SignallingAddress(text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.isSecure == isSecure)
        #expect(address.path == path)
    }

    @Test(
        "a malformed address is an error that shows the right form",
        arguments: ["", "ftp://h", "http://", "http://h:0", "http://h:65536"])
    func refused(text: String) {
        #expect(throws: CallError.self) { try SignallingAddress(text) }
    }
}
