import Testing

@testable import Admission
@testable import WebServer

@Suite struct WebSocketEndpointTests {
    private func endpoint(_ pattern: WebSocketEndpoint.Pattern) -> WebSocketEndpoint {
        WebSocketEndpoint(pattern: pattern, maxMessageBytes: 1) { _ in }
    }

    @Test func `a path takes only itself`() {
        let signal = endpoint(.path("/signal"))
        #expect(signal.takes(path: "/signal"))
        for other in ["/", "/signal/", "/signals", "/Signal", ""] { #expect(!signal.takes(path: other), "\(other)") }
    }

    @Test func `a room's pattern takes the root and one segment that can be a room`() {
        let rooms = endpoint(.room)
        for path in ["/", "/demo", "/caf%C3%A9", "/a.b"] { #expect(rooms.takes(path: path), "\(path)") }
        for path in ["", "demo", "/a/b", "/a%2Fb", "/.hidden", "/%zz", "/a%00b", "//"] {
            #expect(!rooms.takes(path: path), "\(path)")
        }
    }
}
