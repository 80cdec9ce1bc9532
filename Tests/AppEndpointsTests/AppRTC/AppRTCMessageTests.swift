import NIOCore
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct AppRTCMessageTests {
    private func read(_ text: String) throws(Refusal) -> AppRTCMessage {
        try AppRTCMessage(Array(text.utf8), sdpLimit: 100)
    }

    @Test(arguments: [
        (#"{"type":"offer","sdp":"v=0\r\n"}"#, AppRTCMessage.offer(sdp: "v=0\r\n")),
        (#"{"sdp":"v=0","type":"offer"}"#, .offer(sdp: "v=0")),
        // As the web app, the iOS app and the Android app write them: labels as numbers.
        (
            #"{"type":"candidate","label":0,"id":"0","candidate":"candidate:1 1 udp 1 192.0.2.2 3 typ host"}"#,
            .candidate("candidate:1 1 udp 1 192.0.2.2 3 typ host")
        ),
        (#"{"candidate":"candidate:1","id":"video","label":1,"type":"candidate"}"#, .candidate("candidate:1")),
        (#"{"type":"bye"}"#, .bye),
        (#"{"type":"remove-candidates","candidates":[{"label":0,"id":"0","candidate":"candidate:1"}]}"#, .other),
        (#"{"type":"answer","sdp":"v=0"}"#, .other), (#"{"type":"of a later version"}"#, .other),
    ])
    func `messages of the clients`(text: String, message: AppRTCMessage) throws {
        #expect(try read(text) == message)
    }

    private static let longCandidate = #"{"type":"candidate","candidate":"\#(String(repeating: "x", count: 2049))"}"#
    private static let deep = #"{"type":"bye","x":\#(String(repeating: "[", count: 100))"#
    private static let wide = #"{"type":"x","y":[\#(String(repeating: "0,", count: 2000))0]}"#

    @Test(arguments: [
        "", "nonsense", "[]", "null", "{}", #"{"type":7}"#, #"{"type":"offer"}"#, #"{"type":"offer","sdp":7}"#,
        #"{"type":"candidate","candidate":{}}"#, longCandidate, deep, wide,
    ])
    func `what is no message`(text: String) {
        let refusal = #expect(throws: Refusal.self) { try read(text) }
        #expect(refusal?.code == .badMessage)
    }

    @Test func `an offer above the limit`() {
        let refusal = #expect(throws: Refusal.self) {
            try read(#"{"type":"offer","sdp":"\#(String(repeating: "x", count: 101))"}"#)
        }
        #expect(refusal?.code == .badSDP)
    }

    @Test func `a byte that is no UTF-8 is no message`() {
        #expect(throws: Refusal.self) {
            try AppRTCMessage(Array(#"{"type":"bye","x":""#.utf8) + [0xFF] + Array(#""}"#.utf8), sdpLimit: 100)
        }
    }

    // MARK: Frames

    @Test func `frames have both keys, and the message as a text`() {
        #expect(
            String(buffer: AppRTCFrame.answer(sdp: "v=0\r\n\"").buffer)
                == #"{"error":"","msg":"{\"sdp\":\"v=0\\r\\n\\\"\",\"type\":\"answer\"}"}"#)
        #expect(String(buffer: AppRTCFrame.bye.buffer) == #"{"error":"","msg":"{\"type\":\"bye\"}"}"#)
        #expect(
            String(buffer: AppRTCFrame.error(.missingIDs).buffer)
                == #"{"error":"Invalid register request: missing 'clientid' or 'roomid'","msg":""}"#)
    }

    @Test func `the texts of errors are Collider's`() {
        #expect(AppRTCFault.duplicatedRegisterRequest.text == "Duplicated register request")
        #expect(AppRTCFault.duplicatedRegistration.text == "Duplicated registration")
        #expect(AppRTCFault.noSeat.text == "Max room capacity reached")
        #expect(AppRTCFault.notRegistered.text == "Client not registered")
        #expect(AppRTCFault.missingMessage.text == "Invalid send request: missing 'msg'")
        #expect(AppRTCFault.unexpectedCommand.text == "Invalid message: unexpected 'cmd'")
        #expect(!AppRTCFault.unexpectedCommand.isFatal && AppRTCFault.notRegistered.isFatal)
    }

    @Test(arguments: [
        (#"{"cmd":"register","roomid":"r","clientid":"7"}"#, false, AppRTCCommand.register(room: "r", client: "7")),
        (#"{"cmd":"send","msg":"{}"}"#, true, .send("{}")),
    ])
    func `commands`(text: String, isRegistered: Bool, command: AppRTCCommand) throws {
        #expect(try AppRTCCommand(Array(text.utf8), isRegistered: isRegistered) == command)
    }

    @Test(arguments: [
        (#"{"cmd":"register","roomid":"r","clientid":"7"}"#, true, AppRTCFault.duplicatedRegisterRequest),
        (#"{"cmd":"register","roomid":"r"}"#, false, .missingIDs),
        (#"{"cmd":"register","roomid":"","clientid":"7"}"#, false, .missingIDs),
        (#"{"cmd":"send","msg":"x"}"#, false, .notRegistered), (#"{"cmd":"send"}"#, true, .missingMessage),
        (#"{"cmd":"send","msg":""}"#, true, .missingMessage), (#"{"cmd":"dance"}"#, true, .unexpectedCommand),
        ("{}", false, .unexpectedCommand), ("nonsense", true, .unreadable("this is not JSON")),
        (#"{"cmd":7}"#, true, .unreadable("cmd has the wrong type")),
    ])
    func `wrong commands`(text: String, isRegistered: Bool, fault: AppRTCFault) {
        #expect(throws: fault) { try AppRTCCommand(Array(text.utf8), isRegistered: isRegistered) }
    }
}
