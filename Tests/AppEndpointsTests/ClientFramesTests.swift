import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

/// What was recorded from the published apps is read as they mean it.
@Suite struct ClientFramesTests {
    @Test func `AppRTC's Android app`() throws {
        typealias Frames = ClientFrames.AppRTCAndroid
        #expect(
            try AppRTCCommand(Array(Frames.register.utf8), isRegistered: false)
                == .register(room: "demo", client: "47990384"))
        let bye = try AppRTCCommand(Array(Frames.bye.utf8), isRegistered: true)
        guard case .send(let text) = bye else { throw AppRTCFault.missingMessage }
        #expect(try AppRTCMessage(Array(text.utf8), sdpLimit: 1000) == .bye)
        #expect(
            try AppRTCMessage(Array(Frames.offer.utf8), sdpLimit: 1000)
                == .offer(sdp: "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"))
        #expect(
            try AppRTCMessage(Array(Frames.candidate.utf8), sdpLimit: 1000)
                == .candidate("candidate:1 1 udp 1 192.0.2.1 5000 typ host"))
    }

    @Test func `the WebRTC demo's iOS app`() throws {
        typealias Frames = ClientFrames.WebRTCDemo
        #expect(try WebRTCDemoMessage.parse(Array(Frames.offer.utf8)) == .offer(sdp: "v=0\r\na=x/y"))
        #expect(try WebRTCDemoMessage.parse(Array(Frames.candidate.utf8)) == .candidate("candidate:1"))
    }

    /// The event of a frame, and the number of its attachments.
    private func event(_ frame: String) throws -> (name: String, argument: JSONValue, attachments: Int, id: Int?) {
        let packet = try SocketPacket(parsing: String(frame.dropFirst()))
        let (name, arguments) = try #require(packet.event)
        return (name, arguments.first ?? .null, packet.attachments, packet.id)
    }

    @Test(arguments: [
        (ClientFrames.FLSocketIMAndroid.text, ChatEnvelope.Kind.text, 0),
        (ClientFrames.FLSocketIMAndroid.picture, .picture, 1), (ClientFrames.FLSocketIMAndroid.recording, .audio, 1),
        (ClientFrames.FLSocketIMAndroid.place, .location, 0),
    ]) func `FLSocketIM's Android app writes messages`(frame: String, kind: ChatEnvelope.Kind, count: Int) throws {
        let (name, argument, attachments, id) = try event(frame)
        #expect(name == "chat" && attachments == count && id != nil)
        let file = BinaryMessage(Array("GIF89a".utf8) + [0x40, 1, 200, 0])
        let message = try #require(ChatEnvelope(argument, Array(repeating: file, count: count), from: "alice"))
        #expect(message.kind == kind && message.to == "bobby")
        let sent = message.acknowledgement
        // Words of its own enumeration that other apps read as numbers, and paths of the sender's machine, stay behind.
        #expect(sent["sendStatus"] == 0 && sent["messageTip"] == nil && sent["bodies"]?["originImagePath"] == nil)
        #expect(sent["sendTime"] == sent["sendtime"] && sent["sendTime"] != nil)
        if kind == .picture { #expect(sent["bodies"]?["size"] == ["width": 320, "height": 200]) }
        if kind == .audio { #expect(sent["bodies"]?["duration"] == 3) }
        if kind == .location { #expect(message.text?.contains("Mitte · Berlin · 52.5") == true) }
    }

    @Test func `FLSocketIM's Android app calls`() throws {
        typealias Frames = ClientFrames.FLSocketIMAndroid
        let call = try event(Frames.call)
        #expect(call.name == "videoChat" && call.argument["to_user"] == "room_demo" && call.id == 4)
        #expect(try event(Frames.join).argument["room"] == "demo")
        #expect(try event(Frames.offer).argument["sdp"]?["sdp"] == "v=0\r\n")
        #expect(try event(Frames.candidate).argument["candidate"] == "candidate:1 1 udp 1 192.0.2.1 5000 typ host")
        let end = try event(Frames.hangUp)
        #expect(end.name == "closeRoom" && end.argument == .null)
        #expect(try SocketPacket(parsing: String(Frames.acknowledgement.dropFirst())).kind == .ack)
    }
}
