import Conference
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct WebRTCDemoSessionTests {
    private func offer(_ sdp: String) -> [UInt8] {
        JSONValue.object(["type": "SessionDescription", "payload": ["type": "offer", "sdp": .string(sdp)]]).bytes
    }

    private func candidate(_ line: String) -> [UInt8] {
        JSONValue.object([
            "type": "IceCandidate", "payload": ["sdp": .string(line), "sdpMLineIndex": 0, "sdpMid": "0"],
        ]).bytes
    }

    /// A session whose first offer is answered.
    private func inside() -> WebRTCDemoSession {
        var session = WebRTCDemoSession(sdpLimit: 1000)
        _ = session.received(offer("v=0"))
        session.joined()
        _ = session.answered("answer")
        return session
    }

    @Test func `the app's messages are read, with Foundation's escapes`() throws {
        let text =
            #"{"payload":{"sdp":"v=0\r\na=rtpmap:111 opus\/48000\/2\r\n","type":"offer"},"type":"SessionDescription"}"#
        #expect(try WebRTCDemoMessage.parse(Array(text.utf8)) == .offer(sdp: "v=0\r\na=rtpmap:111 opus/48000/2\r\n"))
        let candidate =
            #"{"type":"IceCandidate","payload":{"sdpMLineIndex":0,"sdp":"candidate:1 1 udp 1 192.0.2.1 9 typ host"}}"#
        #expect(
            try WebRTCDemoMessage.parse(Array(candidate.utf8)) == .candidate("candidate:1 1 udp 1 192.0.2.1 9 typ host")
        )
        for other in ["answer", "prAnswer", "rollback"] {
            let message = JSONValue.object([
                "type": "SessionDescription", "payload": ["type": .string(other), "sdp": ""],
            ])
            #expect(try WebRTCDemoMessage.parse(message.bytes) == .other)
        }
        #expect(try WebRTCDemoMessage.parse(Array(#"{"type":"Bye"}"#.utf8)) == .other)
    }

    @Test func `the answer has what the app requires`() throws {
        let json = try JSON.decode(JSONValue.self, from: WebRTCDemoMessage.answer(sdp: "v=0\r\n"))
        #expect(json == ["type": "SessionDescription", "payload": ["type": "answer", "sdp": "v=0\r\n"]])
    }

    @Test func `nothing happens before the first offer, which joins`() {
        var session = WebRTCDemoSession(sdpLimit: 1000)
        #expect(session.received(candidate("candidate:1")).isEmpty && !session.isInside)
        #expect(session.received(offer("v=0")) == [.join(offer: "v=0")])
        #expect(session.received(candidate("candidate:2")).isEmpty)
        session.joined()
        #expect(
            session.answered("answer") == [
                .send(WebRTCDemoMessage.answer(sdp: "answer")), .candidate("candidate:1"), .candidate("candidate:2"),
            ], "the answer first, then the candidates that came too early")
        #expect(session.received(candidate("candidate:3")) == [.candidate("candidate:3")])
    }

    @Test func `each further offer is answered`() {
        var session = inside()
        #expect(session.received(offer("again")) == [.offer("again")])
        #expect(session.answered("second") == [.send(WebRTCDemoMessage.answer(sdp: "second"))])
        #expect(session.refused(Refusal(.tooFast, "")).isEmpty, "a refused one leaves the call as it is")
    }

    @Test func `early candidates are bounded`() {
        var session = WebRTCDemoSession(sdpLimit: 1000)
        for number in 0..<500 { _ = session.received(candidate("candidate:\(number)")) }
        _ = session.received(candidate(String(repeating: "x", count: 3000)))
        _ = session.received(offer("v=0"))
        session.joined()
        #expect(session.answered("answer").count == 1 + WebRTCDemoSession.maxCandidates)
    }

    @Test(arguments: [
        (ErrorCode.roomFull, WebRTCDemoSession.CloseCode.tryAgainLater), (.overloaded, .tryAgainLater),
        (.tooFast, .tryAgainLater), (.unauthorized, .policyViolation), (.badSDP, .policyViolation),
        (.noCommonCodec, .policyViolation), (.roomLocked, .policyViolation), (.forbidden, .removed),
    ]) func `a refused join ends the connection`(error: ErrorCode, close: WebRTCDemoSession.CloseCode) {
        var session = WebRTCDemoSession(sdpLimit: 1000)
        _ = session.received(offer("v=0"))
        #expect(session.refused(Refusal(error, "")) == [.close(close, reason: error.rawValue)])
        #expect(session.received(offer("v=0")).isEmpty)
    }

    @Test(arguments: [
        (LeaveReason.removed, WebRTCDemoSession.CloseCode.removed), (.roomEnded, .removed), (.draining, .goingAway),
        (.moved, .goingAway),
        (.overBudget, .policyViolation),
    ]) func `an end by the server ends the connection`(reason: LeaveReason, close: WebRTCDemoSession.CloseCode) {
        var session = inside()
        #expect(session.left(reason) == [.close(close, reason: reason.rawValue)])
    }

    @Test(arguments: [LeaveReason.left, .timeout, .failed]) func `after the end of its media a client can offer again`(
        reason: LeaveReason
    ) {
        var session = inside()
        #expect(session.left(reason).isEmpty && !session.isInside)
        #expect(session.received(offer("v=0")) == [.join(offer: "v=0")])
    }

    @Test func `rubbish gets no answer, and twenty of it the end`() {
        var session = WebRTCDemoSession(sdpLimit: 1000)
        for _ in 1..<WebRTCDemoSession.maxBadMessages { #expect(session.received([0xFF, 0x00]).isEmpty) }
        #expect(session.received(Array("{}".utf8)) == [.close(.policyViolation, reason: "bad_message")])
        var large = WebRTCDemoSession(sdpLimit: 1000)
        #expect(
            large.received(offer(String(repeating: "x", count: 1001))) == [.close(.policyViolation, reason: "bad_sdp")])
    }

    @Test func `only clients outside are closed by the drain itself`() {
        var outside = WebRTCDemoSession(sdpLimit: 1000)
        #expect(outside.drained() == [.close(.goingAway, reason: "draining")])
        var session = inside()
        #expect(session.drained().isEmpty)
    }
}

@Suite struct WebRTCDemoTargetTests {
    @Test(arguments: [
        ("/", WebRTCDemoTarget(room: "lobby", name: nil, token: nil)),
        ("/?name=Ada", WebRTCDemoTarget(room: "lobby", name: "Ada", token: nil)),
        ("/team", WebRTCDemoTarget(room: "team", name: nil, token: nil)),
        ("/team%20a?name=Ada+L%C3%B6w&token=x.y.z", WebRTCDemoTarget(room: "team a", name: "Ada Löw", token: "x.y.z")),
        ("/team?name=&token=", WebRTCDemoTarget(room: "team", name: nil, token: "")),
        ("/team?name=%FF&name=Bo&name=Eve", WebRTCDemoTarget(room: "team", name: "Bo", token: nil)),
    ]) func `the URL has room, name and token`(uri: String, target: WebRTCDemoTarget) {
        #expect(WebRTCDemoTarget(uri: uri, defaultRoom: "lobby") == target)
    }
}

extension WebRTCDemoTarget {
    fileprivate init(room: String, name: String?, token: String?) {
        self.init(uri: "/", defaultRoom: room)
        self.name = name
        self.token = token
    }
}
