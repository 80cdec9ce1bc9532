import Foundation
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct RawTCPMessageTests {
    @Test(arguments: [
        (
            #"{"type":"login_req","source":0,"destination":0,"status":0,"detail_info":{"device_type":"ios"}}"#,
            RawTCPMessage.login(.init())
        ),
        (
            #"{"type":"login_req","source":77,"detail_info":{"room":"r","name":"Robo","token":"t"}}"#,
            .login(.init(source: 77, room: "r", name: "Robo", token: "t"))
        ),
        (#"{"type":"login_req"}"#, .login(.init())),
        (#"{"detail_info":{"":""},"type":"heartbeat_req","source":7,"destination":1,"status":0}"#, .heartbeat),
        (
            #"{"type":"sdp","source":7,"detail_info":{"sdp":{"sdp":"v=0\r\na=rtpmap:111 opus\/48000\/2","type":"answer"}}}"#,
            .answer(sdp: "v=0\r\na=rtpmap:111 opus/48000/2")
        ),
        (#"{"type":"sdp","detail_info":{"sdp":{"sdp":"v=0","type":"offer"}}}"#, .other),
        (
            #"{"type":"icecandidate","detail_info":{"icecandidate":{"candidate":"candidate:1","sdpMLineIndex":0,"sdpMid":"0"}}}"#,
            .candidate("candidate:1")
        ),
        (#"{"type":"robot_status","detail_info":{"battery":3}}"#, .other),
    ]) func `the app's messages are read`(text: String, message: RawTCPMessage) throws {
        #expect(try RawTCPMessage.parse(Array(text.utf8)) == message)
    }

    @Test(arguments: [
        "", "{", "[]", "null", #"{"type":7}"#, #"{"source":0}"#, #"{"type":"sdp"}"#,
        #"{"type":"sdp","detail_info":{"sdp":"v=0"}}"#, #"{"type":"icecandidate","detail_info":{"":""}}"#,
        #"{"type":"login_req","source":"0"}"#, String(repeating: "[", count: 9),
        "{\"type\":\"login_req\",\"detail_info\":{\"name\":\"\u{FF}", "\u{0}",
    ]) func `what is no message is refused`(text: String) {
        #expect(throws: RawTCPFault.json) { try RawTCPMessage.parse(Array(text.utf8)) }
    }

    @Test func `replies have the members that the app reads`() throws {
        func json(_ reply: RawTCPReply) throws -> JSONValue {
            try JSON.decode(JSONValue.self, from: reply.json(to: 7))
        }
        let login = try json(.loggedIn(peer: 7))
        #expect(login["type"] == "login_resp" && login["source"] == 1 && login["destination"] == 7)
        #expect(login["detail_info"]?["peer_id"] == 7)
        #expect(login["detail_info"]?["peer_list"] == [["peer_id": 1, "device": "mcu"]])
        #expect(try json(.offer(sdp: "v=0"))["detail_info"]?["sdp"] == ["sdp": "v=0", "type": "offer"])
        #expect(try json(.heartbeat)["type"] == "heartbeat_resp")
        #expect(try json(.over(reason: "removed"))["type"] == "peer_disconnected_notify")
    }
}

@Suite struct RawTCPOfferSizeTests {
    private func offer(candidates: Int, filler: Int = 600) -> String {
        let lines =
            ["v=0", "a=" + String(repeating: "x", count: filler)]
            + (0..<candidates).map { "a=candidate:\($0) 1 udp 2130706431 192.0.2.\($0) 50000 typ host" } + ["m=last"]
        return lines.map { $0 + "\r\n" }.joined()
    }

    private func sdp(_ json: [UInt8]) throws -> String {
        guard case .string(let text)? = try JSON.decode(JSONValue.self, from: json)["detail_info"]?["sdp"]?["sdp"]
        else {
            return ""
        }
        return text
    }

    @Test func `a small offer stays whole, with shorter ends of lines`() throws {
        let json = RawTCPOfferSize.json(offer: offer(candidates: 4), to: 7, maximumSegment: 1460)
        #expect(try sdp(json) == offer(candidates: 4).replacing("\r\n", with: "\n"))
        #expect(json.last == UInt8(ascii: "}"))
    }

    @Test func `a larger offer loses its least preferred candidates`() throws {
        let json = RawTCPOfferSize.json(offer: offer(candidates: 20), to: 7, maximumSegment: 1460)
        #expect(RawTCPFrame.size(json: json.count) <= RawTCPOfferSize.segment)
        let text = try sdp(json)
        #expect(text.contains("a=candidate:0 ") && text.contains("a=candidate:5 "))
        #expect(!text.contains("a=candidate:19 ") && text.hasSuffix("m=last\n"))
    }

    @Test(arguments: 1300...1480) func `no frame ends one to four bytes behind a segment`(filler: Int) throws {
        let json = RawTCPOfferSize.json(offer: offer(candidates: 3, filler: filler), to: 7, maximumSegment: 1388)
        let size = RawTCPFrame.size(json: json.count)
        #expect(size > 1400)
        for segment in [1460, 1448, 1440, 1428, 1400, 1388] {
            #expect(!(1...4).contains(size % segment), "\(size) bytes in segments of \(segment)")
        }
        #expect(try sdp(json).contains("a=candidate:1 "))
    }
}
