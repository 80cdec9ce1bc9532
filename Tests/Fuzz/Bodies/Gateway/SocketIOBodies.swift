import Basics
import Foundation
import Fuzzing

@testable import AppEndpoints
@testable import Gateway
@testable import WebServer

/// What FLSocketIM's clients send: payloads, packets and bodies of forms.
enum SocketIOBodies {
    static let all = [payload, messages, form]

    /// The whole input as both kinds of payload; what can be read is written and read again.
    private static let payload = FuzzTarget(
        "engineio", covers: "payloads of Engine.IO 3", limits: WorkLimits(perByte: .microseconds(2)),
        maximumLength: 65_536, words: ["1:2", "6:b4AAAA", "85:0{", "\u{1F600}", "0:", "999999999:"],
        seeds: {
            [Array("7:42[\"a\"]6:b4AP8B3:4\u{1F600}".utf8), [0, 2, 0xFF, 0x34, 0x32, 1, 4, 0xFF, 4, 9, 8, 7]]
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        if let packets = try? EnginePayload.decode(text: input.bytes) {
            guard (try? EnginePayload.decode(text: EnginePayload.encode(text: packets))) == packets else {
                fatalError("engineio: another payload of text")
            }
        }
        if let packets = try? EnginePayload.decode(octets: input.bytes),
            packets.reduce(0, { $0 + $1.count }) > input.bytes.count
        {
            fatalError("engineio: more bytes than the payload has")
        }
        work.weigh()
    }

    /// A script of one client's messages: the events are taken apart, and chat messages prepared for both sides.
    private static let messages = FuzzTarget(
        "socketio", covers: "packets of Socket.IO 2 with their attachments, chat messages",
        limits: WorkLimits(perByte: .microseconds(6)), maximumLength: 65_536,
        words: [
            "451-", "42[", "\"chat\"", "\"_placeholder\"", "\"bodies\"", "\"to_user\"", "\"fileData\"", "\"type\"",
            "\"img\"", "/a,",
        ],
        seeds: {
            var script = FuzzScript()
            script.byte(0)
            script.chunk(
                Array(
                    #"451-7["chat",{"to_user":"bobby","bodies":{"type":"img","fileData":{"_placeholder":true,"num":0}}}]"#
                        .utf8))
            script.byte(1)
            script.chunk([1, 2, 3])
            script.byte(0)
            script.chunk(Array(#"42["chat",{"to_user":"room_a","bodies":{"type":"loc","latitude":1.5}}]"#.utf8))
            return [script.bytes]
        }
    ) { input, work in
        var script = input
        let budget = ByteBudget(1 << 20, perAddress: 1 << 19)
        var assembler = PacketAssembler(budget: budget, address: .v4(1))
        while !script.isEmpty {
            let isText = script.byte() % 2 == 0
            let chunk = script.chunk()
            work.step(bytes: chunk.count)
            let content: EnginePacket.Content =
                isText ? .text(String(decoding: chunk, as: UTF8.self)) : .binary(BinaryMessage(chunk))
            guard let assembled = try? assembler.take(content) else { continue }
            let text = assembled.packet.text
            guard (try? SocketPacket(parsing: text))?.text == text else { fatalError("socketio: another packet") }
            guard let (_, arguments) = assembled.packet.event, let argument = arguments.first,
                var message = ChatEnvelope(argument, assembled.attachments, from: "alice")
            else { continue }
            message.stamp(id: "1", at: Date(timeIntervalSince1970: 0), path: "images/a.jpg")
            _ = message.text
            if message.delivery.attachments.count > 1 || message.acknowledgement["bodies"]?["fileData"] != nil {
                fatalError("socketio: a file where none belongs")
            }
        }
        work.weigh()
    }

    private static let form = FuzzTarget(
        "form", covers: "bodies of forms, queries", maximumLength: 65_536,
        words: ["%zz", "%2B", "&&", "=", "--b", "--b--", "\r\n\r\n", "Content-Disposition: form-data; name=", "EIO=3"],
        seeds: {
            [
                Array("userName=alice&password=a%2Bb+c".utf8),
                Array("--b\r\nContent-Disposition: form-data; name=\"image\"\r\n\r\nx\r\n--b--".utf8),
                Array("/socket.io/?EIO=3&transport=polling&b64=1&sid=a&auth_token=b".utf8),
            ]
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        let form = FormBody(input.bytes)
        if form.count > FormBody.maxFields { fatalError("form: too many fields") }
        _ = try? EngineRequest(uri: String(decoding: input.bytes, as: UTF8.self))
        if let body = try? MultipartBody(input.bytes, contentType: "multipart/form-data; boundary=b") {
            for part in body.parts where part.content.upperBound > input.bytes.count {
                fatalError("form: a part outside of its body")
            }
            _ = body.content("image")
        }
        work.weigh()
    }
}
