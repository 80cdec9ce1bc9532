import Basics
import EndpointTestSupport
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import Conference
@testable import Gateway
@testable import Settings
@testable import WebServer

/// The endpoint over its routes, without sockets.
@Suite struct SocketIOEndpointTests {
    /// A host in mode `token`, whose logins need no hashes.
    private func host(_ service: FakeConference = FakeConference()) async -> Host {
        await Host(service) { settings in
            settings.auth.mode = .token
            settings.auth.secret = "correct"
            settings.doors.directory = NSTemporaryDirectory() + "none-\(UUID().uuidString)"
        }
    }

    private func token(_ name: String, room: String) throws -> String {
        try TokenClaims(room: room, name: name, exp: .distantFuture).signed("correct")
    }

    private func login(_ host: Host, _ name: String, room: String = "*") async throws -> String {
        let token = try token(name, room: room)
        let answer = try await host.ask(.post, "/mobileLogin", body: "userName=\(name)&password=\(token)")
        guard case .string(let auth)? = answer.json["data"]?["auth_token"] else {
            Issue.record("\(answer.json)")
            return ""
        }
        return auth
    }

    /// What the apps keep of a login, and send with every other request.
    private func cookie(_ host: Host, _ name: String, room: String = "*") async throws -> String {
        let token = try token(name, room: room)
        let answer = try await host.ask(.post, "/mobileLogin", body: "userName=\(name)&password=\(token)")
        return String(try #require(answer.headers[.setCookie]).prefix { $0 != ";" })
    }

    /// Begins a session. Returns the path of its requests.
    private func connect(_ host: Host, _ name: String, room: String = "*") async throws -> String {
        let token = try await login(host, name, room: room)
        let answer = try await host.ask(.get, "/socket.io/?transport=polling&b64=1&auth_token=\(token)")
        let packets = try EnginePayload.decode(text: answer.body)
        #expect(answer.status == 200 && packets.count == 2 && packets[1] == EnginePacket(.message, "0"))
        guard case .text(let open)? = packets.first?.content,
            case .string(let id)? = try JSON.decode(JSONValue.self, from: open.utf8)["sid"]
        else { return "" }
        return "/socket.io/?transport=polling&b64=1&sid=\(id)"
    }

    private func post(_ host: Host, _ path: String, _ packet: String) async throws -> Int {
        try await host.ask(.post, path, body: "\(packet.utf16.count):\(packet)").status
    }

    /// The waiting packets' texts.
    private func poll(_ host: Host, _ path: String) async throws -> [String] {
        try EnginePayload.decode(text: try await host.ask(.get, path).body).map { packet in
            if case .text(let text) = packet.content { EnginePacket.text(packet.kind, text) } else { "bytes" }
        }
    }

    /// Polls until a packet with this text comes. Returns it.
    private func wait(_ host: Host, _ path: String, for text: String) async throws -> String {
        for _ in 0..<50 {
            if let packet = try await poll(host, path).first(where: { $0.contains(text) }) { return packet }
        }
        Issue.record("no \(text)")
        return ""
    }

    @Test(arguments: ["4", "2", "x", ""]) func `other versions are refused politely`(version: String) async throws {
        let answer = try await host().ask(.get, "/socket.io/?EIO=\(version)&transport=polling")
        #expect(answer.status == 400)
        #expect(answer.json == ["code": 5, "message": "Unsupported protocol version"])
    }

    @Test func `requests out of the protocol get its codes`() async throws {
        let host = await host()
        for (method, path, status, code) in [
            (.get, "?transport=polling", 403, 4), (.get, "?transport=polling&auth_token=x.y", 403, 4),
            (.get, "?transport=flash", 400, 0), (.get, "", 400, 0), (.get, "?transport=websocket", 400, 3),
            (.get, "?transport=polling&j=0", 400, 3), (.get, "?transport=polling&sid=none", 400, 1),
            (.post, "?transport=polling&sid=none", 400, 1), (.post, "?transport=polling", 400, 2),
        ] as [(HTTPRequest.Method, String, Int, Int)] {
            let answer = try await host.ask(method, "/socket.io/" + path)
            #expect(answer.status == status && answer.json["code"] == .integer(code), "\(path)")
        }
    }

    @Test func `an event before its poll, and a poll before its event`() async throws {
        let host = await host()
        let (alice, bobby) = (try await connect(host, "alice"), try await connect(host, "bobby"))
        #expect(try await poll(host, alice) == [#"42["onLine",{"user":"bobby"}]"#])
        async let waiting = poll(host, bobby)
        let message = #"{"to_user":"bobby","bodies":{"type":"txt","msg":"你好 😀"}}"#
        #expect(try await post(host, alice, #"427["chat",\#(message)]"#) == 200)
        let received = try await waiting
        #expect(received.count == 1 && received[0].hasPrefix(#"421["chat",{"#) && received[0].contains("你好 😀"))
        #expect(received[0].contains(#""from_user":"alice""#) && received[0].contains(#""msg_id":""#))
        let acknowledgement = try await poll(host, alice)
        #expect(acknowledgement.count == 1 && acknowledgement[0].hasPrefix(#"437[{"#))
    }

    @Test func `a call waits to be let in, with a word, and hanging up ends the wait`() async throws {
        let host = await host()
        let alice = try await connect(host, "alice")
        host.service.makeWait(true)
        _ = try await post(host, alice, #"42["__join",{"room":"r"}]"#)
        #expect(try await wait(host, alice, for: "A moderator has to let you in").contains("room_r"))
        host.service.makeWait(false)
        host.service.decide(.admitted)
        _ = try await wait(host, alice, for: "_peers")
        _ = try await post(host, alice, #"42["closeRoom"]"#)
        host.service.makeWait(true)
        _ = try await post(host, alice, #"42["__join",{"room":"r"}]"#)
        _ = try await wait(host, alice, for: "A moderator has to let you in")
        _ = try await post(host, alice, #"42["closeRoom"]"#)
        #expect(await eventually { host.service.asked.contains("stop waiting w1") })
        _ = try await post(host, alice, #"42["__join",{"room":"r"}]"#)
        _ = try await wait(host, alice, for: "A moderator has to let you in")
        host.service.decide(.refused)
        _ = try await wait(host, alice, for: "_remove_peer")
    }

    @Test func `what is written to a room before the call may be its PIN`() async throws {
        let host = await host()
        let alice = try await connect(host, "alice")
        host.service.state.withLock { $0.joinError = .pinRequired("r") }
        _ = try await post(host, alice, #"42["__join",{"room":"r"}]"#)
        _ = try await wait(host, alice, for: "asks for a PIN")
        host.service.state.withLock { $0.joinError = nil }
        _ = try await post(host, alice, #"421["chat",{"to_user":"room_r","bodies":{"type":"txt","msg":"2718"}}]"#)
        // The app waits for an acknowledgement, for ever or for 20 s, and then shows a failure.
        let packets = try await poll(host, alice)
        #expect(packets.contains { $0.contains("Nobody has read this") })
        #expect(packets.contains { $0.hasPrefix(#"431[{"#) && $0.contains(#""msg_id":"#) })
        for room in ["s", "r"] {
            _ = try await post(host, alice, #"42["__join",{"room":"\#(room)"}]"#)
            _ = try await wait(host, alice, for: "_peers")
        }
        #expect(host.service.state.withLock { $0.requests.map(\.pin) } == [nil, "2718"])
        #expect(
            host.service.state.withLock { $0.requests.allSatisfy(\.endsWithMedia) }, "a dead client that polls is gone")
        #expect(!host.service.asked.contains { $0.hasPrefix("chat") })
    }

    @Test func `a message to nobody is acknowledged`() async throws {
        let host = await host()
        let alice = try await connect(host, "alice")
        _ = try await post(host, alice, #"421["chat",{"to_user":"nobody","bodies":{"type":"txt","msg":"x"}}]"#)
        #expect(try await poll(host, alice).first?.hasPrefix("431[{") == true)
    }

    /// FLSocketIM's Android app waits for the acknowledgement for ever, its iOS app for 20 s.
    @Test(arguments: [
        #"{"to_user":"bobby","bodies":{"type":"video","msg":"x"}}"#, #"{"to_user":"bobby","bodies":{"type":"img"}}"#,
        #"{"to_user":"bobby","bodies":{"type":"loc","locationName":"\#(String(repeating: "n", count: 40_000))"}}"#,
        #"{"to_user":"bobby","bodies":{"type":"txt","msg":"\#(String(repeating: "t", count: 40_000))"}}"#,
        #"{"to_user":"bobby"}"#, #"{"to_user":7,"bodies":{"type":"txt"}}"#, "{}", "7", "null", "[]",
    ]) func `a message that goes nowhere is acknowledged, with a word`(message: String) async throws {
        let host = await host()
        let (alice, bobby) = (try await connect(host, "alice"), try await connect(host, "bobby"))
        _ = try await post(host, alice, #"425["chat",\#(message)]"#)
        let told = try await poll(host, alice)
        let acknowledgement = try #require(told.first { $0.hasPrefix("435[{") }, "\(told)")
        #expect(acknowledgement.contains(#""msg_id":""#) && acknowledgement.contains(#""timestamp":"#))
        // The apps read the path of a place in its acknowledgement.
        #expect(
            acknowledgement.contains(#""fileRemotePath":"""#) == (message.contains("loc") || message.contains("img")))
        if message.contains("bobby") {
            #expect(told.contains { $0.contains("This was not sent: ") && $0.contains(#""from_user":"bobby""#) })
        }
        _ = try await post(host, alice, #"426["chat",{"to_user":"bobby","bodies":{"type":"txt","msg":"next"}}]"#)
        #expect(try await poll(host, bobby).allSatisfy { $0.contains("next") }, "nothing of it reached the other")
    }

    @Test func `beyond the rate messages and calls are acknowledged all the same`() async throws {
        let host = await host()
        let alice = try await connect(host, "alice")
        // Five calls at once, and one more.
        for id in 1...6 { _ = try await post(host, alice, #"42\#(id)["videoChat",{"to_user":"nobody"}]"#) }
        let told = try await poll(host, alice)
        for id in 1...6 { #expect(told.contains { $0.hasPrefix(#"43\#(id)[""#) }, "\(told)") }
        #expect(told.last?.hasPrefix(#"42["cancelVideoChat""#) == true, "and the last one's screen closes")
        let body = String(repeating: "7:42[\"a\"]", count: 200)
        _ = try await host.ask(.post, alice, body: body)
        _ = try await post(host, alice, #"428["chat",{"to_user":"nobody","bodies":{"type":"txt","msg":"x"}}]"#)
        #expect(try await poll(host, alice).contains { $0.hasPrefix("438[{") })
    }

    @Test func `two polls at once close the session`() async throws {
        let host = await host()
        let alice = try await connect(host, "alice")
        async let first = host.ask(.get, alice)
        try await Task.sleep(for: .milliseconds(50))
        async let second = host.ask(.get, alice)
        #expect(try await Set([first.status, second.status]) == [200, 400])
        #expect(try await host.ask(.get, alice).json["code"] == 1)
    }

    @Test(arguments: ["999:4", "2:4", "junk", "3:42{", "6:451-[]"]) func `a broken payload ends only its session`(
        body: String
    ) async throws {
        let host = await host()
        let (alice, bobby) = (try await connect(host, "alice"), try await connect(host, "bobby"))
        _ = try await poll(host, alice)
        _ = try await host.ask(.post, alice, body: body)
        // `451-[]` waits for its attachment; text in its place ends the session.
        _ = try await host.ask(.post, alice, body: "1:2")
        _ = try await host.ask(.post, alice, body: "6:42[\"a\"]")
        #expect(try await host.ask(.get, alice).status == 400)
        #expect(try await poll(host, bobby) == [#"42["offLine",{"user":"alice"}]"#])
    }

    @Test func `a call to a person rings there, and its refusal ends it here`() async throws {
        let host = await host()
        let (alice, bobby) = (try await connect(host, "alice"), try await connect(host, "bobby"))
        _ = try await poll(host, alice)
        _ = try await post(host, alice, #"420["videoChat",{"from_user":"x","to_user":"bobby","chat_type":0}]"#)
        let acknowledgement = try await poll(host, alice)[0]
        let ring = try await poll(host, bobby)[0]
        let room = acknowledgement.dropFirst(#"430[""#.count).dropLast(2)
        #expect(UUID(uuidString: String(room)) != nil)
        #expect(ring == #"421["videoChat",{"chat_type":0,"from_user":"alice","room":"\#(room)"}]"#)
        _ = try await post(host, bobby, #"42["cancelVideoChat",{"room":"\#(room)"}]"#)
        #expect(try await poll(host, alice) == [#"42["cancelVideoChat",{}]"#])
    }

    @Test func `a join takes a seat under the user's name, and the offer is answered`() async throws {
        let service = FakeConference()
        let host = await host(service)
        let alice = try await connect(host, "alice")
        _ = try await post(host, alice, #"420["videoChat",{"to_user":"room_demo"}]"#)
        #expect(try await poll(host, alice) == [#"430["demo"]"#])
        _ = try await post(host, alice, #"42["__join",{"room":"demo"}]"#)
        #expect(try await wait(host, alice, for: "_peers").contains(#"{"connections":["mcu-1"],"you":""#))
        #expect(service.asked.contains("join demo alice participant"))
        for sdp in ["old", "older", "newest"] {
            _ = try await post(host, alice, #"42["__offer",{"sdp":{"type":"offer","sdp":"\#(sdp)"}}]"#)
        }
        _ = try await post(
            host, alice, #"42["__ice_candidate",{"id":"audio","label":0,"candidate":"candidate:1"}]"#)
        let answer = try await wait(host, alice, for: "_answer")
        #expect(answer.contains(#""socketId":"mcu-1""#) && answer.contains("s=answer"))
        #expect(service.asked.contains("candidate candidate:1"))
        // The room ends.
        for event in service.state.withLock({ $0.events }) { event(SharedEvent(.left(.roomEnded))) }
        #expect(try await poll(host, alice) == [#"42["_remove_peer",{"socketId":"mcu-1"}]"#])
    }

    @Test func `a full room closes the call screen`() async throws {
        let service = FakeConference()
        service.state.withLock { $0.joinError = .roomFull("demo") }
        let host = await host(service)
        let alice = try await connect(host, "alice")
        _ = try await post(host, alice, #"42["__join",{"room":"demo"}]"#)
        #expect(try await wait(host, alice, for: "_remove_peer").contains("mcu-1"))
    }

    @Test func `chat of the room goes both ways, without the sender's own`() async throws {
        let service = FakeConference()
        let host = await host(service)
        let alice = try await connect(host, "alice")
        _ = try await post(host, alice, #"421["chat",{"to_user":"room_demo","bodies":{"type":"txt","msg":"x"}}]"#)
        #expect(try await wait(host, alice, for: "room_demo").contains("Join the call"))
        _ = try await post(host, alice, #"42["__join",{"room":"demo"}]"#)
        _ = try await wait(host, alice, for: "_peers")
        _ = try await post(host, alice, #"422["chat",{"to_user":"room_demo","bodies":{"type":"txt","msg":"hello"}}]"#)
        #expect(try await wait(host, alice, for: "432[").contains("hello"))
        #expect(service.asked.contains("chat hello to all"))
        let own = ChatMessage(id: "1", from: "p2", fromName: "alice", to: nil, text: "hello", picture: nil, at: .now)
        let other = ChatMessage(id: "2", from: "p1", fromName: "Anna", to: nil, text: "hi", picture: nil, at: .now)
        for event in service.state.withLock({ $0.events }) {
            event(SharedEvent(.chat(own)))
            event(SharedEvent(.chat(other)))
        }
        let packets = try await poll(host, alice)
        #expect(packets.count == 1 && packets[0].contains(#""msg":"Anna: hi""#) && packets[0].contains("room_demo"))
    }

    @Test func `users are listed, and the rooms that the reader's token opens`() async throws {
        let host = await host()
        #expect(try await host.ask(.get, "/allUsers", from: "192.0.2.9").json["data"]?["allUser"] == [])
        _ = try await connect(host, "alice", room: "other")
        #expect(try await host.ask(.get, "/allUsers").json["data"]?["onLineUsers"] == [], "an address proves nobody")
        let cookie = try await cookie(host, "alice", room: "other")
        let own = try await host.ask(.get, "/allUsers", [.cookie: cookie], from: "192.0.2.9")
        #expect(own.json["data"]?["onLineUsers"] == ["alice"])
        let token = try await login(host, "bobby", room: "r")
        let users = try await host.ask(.get, "/allUsers?auth_token=\(token)").json["data"]
        #expect(users?["onLineUsers"] == ["alice", "room_r"])
        #expect(
            users?["allUser"] == [
                ["_id": "alice", "name": "alice", "nickname": "", "headImageUrl": ""],
                ["_id": "room_r", "name": "room_r", "nickname": "", "headImageUrl": ""],
            ])
    }

    @Test func `in mode token nobody registers, and a token has one name`() async throws {
        let host = await host()
        #expect(try await host.ask(.post, "/register", body: "userName=alice&password=x").json["code"] == -1)
        let token = try token("alice", room: "*")
        let answer = try await host.ask(.post, "/mobileLogin", body: "userName=bobby&password=\(token)")
        #expect(answer.status == 200 && answer.json["code"] == -1)
        #expect(answer.json["message"] == "this token is for the name alice" && answer.json["data"] == "")
        #expect(try await host.ask(.post, "/mobileLogin", body: "userName=bobby&password=x").json["code"] == -1)
    }

    @Test func `a session beyond the rate loses events, and then ends`() async throws {
        let host = await host()
        let alice = try await connect(host, "alice")
        let body = String(repeating: "7:42[\"a\"]", count: 200)
        for _ in 0..<4 { #expect(try await host.ask(.post, alice, body: body).status == 200) }
        #expect(try await host.ask(.get, alice).status == 400)
    }

    @Test func `text beyond the allowance is not parsed`() async throws {
        let host = await host()
        let (alice, bobby) = (try await connect(host, "alice"), try await connect(host, "bobby"))
        _ = try await poll(host, alice)
        // Five of 250 kB are more than the allowance; what is behind it is no JSON, and nobody finds out.
        let long = "42[\"a\",\"" + String(repeating: "x", count: 250_000) + "\"]"
        for _ in 0..<4 { #expect(try await post(host, alice, long) == 200) }
        let broken = "42[" + String(repeating: "{", count: 250_000)
        for _ in 0..<10 { #expect(try await post(host, alice, broken) == 200) }
        // An attachment that was announced there is left out with it.
        #expect(try await post(host, alice, "451-" + broken.dropFirst(2)) == 200)
        #expect(try await host.ask(.post, alice, body: "6:b4AAAA").status == 200)
        #expect(try await post(host, alice, "2") == 200, "the session goes on")
        let metrics = String(decoding: try await host.ask(.get, "/metrics").body, as: UTF8.self)
        #expect(metrics.contains("tessera_socketio_events_ignored_total 11"))
        // Within the allowance it would have ended.
        _ = try await post(host, bobby, "42[{{{")
        #expect(try await host.ask(.get, bobby).status == 400)
    }

    @Test func `acknowledgements of a client cost it nothing`() async throws {
        let host = await host()
        let alice = try await connect(host, "alice")
        for _ in 0..<10 {
            #expect(try await host.ask(.post, alice, body: String(repeating: "5:431[]", count: 200)).status == 200)
        }
        let chat = #"421["chat",{"to_user":"nobody","bodies":{"type":"txt","msg":"x"}}]"#
        #expect(try await post(host, alice, chat) == 200)
        #expect(try await poll(host, alice).contains { $0.hasPrefix("431[{") })
    }

    @Test func `who chose a name of another reads nothing of hers, and writes under a mark`() async throws {
        let host = await host()
        let (alice, bobby) = (try await connect(host, "alice1"), try await connect(host, "bobby"))
        let nameless = try TokenClaims(room: "elsewhere", exp: .distantFuture).signed("correct")
        let answer = try await host.ask(.post, "/mobileLogin", body: "userName=alice1&password=\(nameless)")
        guard case .string(let auth)? = answer.json["data"]?["auth_token"] else { throw EngineFault.malformed }
        let handshake = try await host.ask(.get, "/socket.io/?transport=polling&b64=1&auth_token=\(auth)")
        guard case .text(let open)? = try EnginePayload.decode(text: handshake.body).first?.content,
            case .string(let id)? = try JSON.decode(JSONValue.self, from: open.utf8)["sid"]
        else { throw EngineFault.malformed }
        let stranger = "/socket.io/?transport=polling&b64=1&sid=\(id)"
        let message = #"421["chat",{"to_user":"TO","bodies":{"type":"txt","msg":"private"}}]"#
        _ = try await post(host, bobby, message.replacing("TO", with: "alice1"))
        _ = try await wait(host, alice, for: "private")
        _ = try await post(host, stranger, message.replacing("TO", with: "bobby"))
        let own = try await poll(host, stranger)
        #expect(own.contains { $0.hasPrefix("431[{") && $0.contains(#""from_user":"alice1""#) })
        #expect(!own.contains { $0.hasPrefix("421[") })
        // Behind the acknowledgement of her own message, and the word that somebody is online.
        let told = try await wait(host, bobby, for: #""from_user":"alice1_"#)
        #expect(!told.contains(#""from_user":"alice1""#) && told.contains(#""from_user":"alice1_"#))
        // Whoever answers that name reaches the stranger, who knows itself as alice1.
        let name = try #require(told.firstMatch(of: #/"from_user":"(alice1_[0-9a-f]{8}_)"/#)?.1)
        _ = try await post(host, bobby, message.replacing("TO", with: String(name)))
        #expect(try await wait(host, stranger, for: "private").contains(#""to_user":"alice1""#))
    }

    @Test func `drain ends the sessions`() async throws {
        let host = await host()
        let alice = try await connect(host, "alice")
        async let waiting = poll(host, alice)
        try await Task.sleep(for: .milliseconds(50))
        host.endpoints.drain()
        #expect(try await waiting == ["1"])
    }

    @Test func `without its key the endpoint is not there`() async throws {
        let host = await Host { $0.doors.socketIO = false }
        for path in ["/socket.io/", "/allUsers"] { #expect(try await host.ask(.get, path).status == 404) }
        #expect(try await host.ask(.post, "/mobileLogin").status == 404)
    }

    @Test func `a picture is stored, goes to its recipient with its path, and can be uploaded`() async throws {
        let host = await host()
        let (alice, bobby) = (try await connect(host, "alice"), try await connect(host, "bobby"))
        _ = try await poll(host, alice)
        let bodies = #"{"type":"img","fileName":"a","fileData":{"_placeholder":true,"num":0}}"#
        let event = #"451-3["chat",{"to_user":"bobby","bodies":\#(bodies)}]"#
        // GIF89a
        let answer = try await host.ask(.post, alice, body: "\(event.utf16.count):\(event)10:b4R0lGODlh")
        #expect(answer.status == 200)
        #expect(try await poll(host, alice)[0].contains(#""fileRemotePath":"images/\#(FakeConference.picture)""#))
        let received = try await poll(host, bobby)
        #expect(received.count == 2 && received[0].hasPrefix("451-1[") && received[1] == "bytes")

        let wrong = event.replacing("451-3", with: "451-4")
        _ = try await host.ask(.post, alice, body: "\(wrong.utf16.count):\(wrong)6:b4AAAA")
        let told = try await poll(host, alice)
        #expect(told.contains { $0.contains("This was not sent: ") && $0.contains(#""from_user":"bobby""#) })
        #expect(told.contains { $0.hasPrefix("434[{") }, "a refusal is acknowledged too: the app knows no other end")

        let form = "--b\r\nContent-Disposition: form-data; name=\"image\"\r\n\r\nGIF89a\r\n--b--"
        let type: HTTPFields = [.contentType: "multipart/form-data; boundary=b"]
        // Who shares an address with her is not she.
        #expect(try await host.ask(.post, "/uploadFiles", type, body: form).json["message"] == "log in first")
        let cookie = try await cookie(host, "alice")
        let own: HTTPFields = [.contentType: "multipart/form-data; boundary=b", .cookie: "other=1; " + cookie]
        let upload = try await host.ask(.post, "/uploadFiles", own, body: form, from: "192.0.2.9")
        #expect(upload.json["code"] == 1 && upload.json["data"] == .string("images/\(FakeConference.picture)"))
        #expect(host.service.asked.contains("store 6 unsent") && !host.service.asked.contains { $0.hasPrefix("keep") })
        let other = try await host.ask(.post, "/uploadFiles", own, body: form.replacing("GIF", with: "PDF"))
        #expect(other.json["code"] == -1)
        let text: HTTPFields = [.contentType: "text/plain", .cookie: cookie]
        #expect(try await host.ask(.post, "/uploadFiles", text, body: form).status == 415)
        // A message of another account does not keep it, and one of its own does.
        let words = "see images/\(FakeConference.picture)"
        let named = #"421["chat",{"to_user":"bobby","bodies":{"type":"txt","msg":"\#(words)"}}]"#
        _ = try await post(host, bobby, named)
        #expect(!host.service.asked.contains { $0.hasPrefix("keep") })
        _ = try await post(host, alice, named)
        #expect(host.service.asked.contains("keep \(FakeConference.picture)"))
    }

    @Test func `a login without a session uploads nothing`() async throws {
        let host = await host()
        let cookie = try await cookie(host, "alice")
        let form = "--b\r\nContent-Disposition: form-data; name=\"image\"\r\n\r\nGIF89a\r\n--b--"
        let type: HTTPFields = [.contentType: "multipart/form-data; boundary=b", .cookie: cookie]
        #expect(try await host.ask(.post, "/uploadFiles", type, body: form).json["message"] == "log in first")
        _ = try await connect(host, "alice")
        #expect(try await host.ask(.post, "/uploadFiles", type, body: form).json["code"] == 1)
    }

    @Test func `the login's cookie is for this server's own pages and apps`() async throws {
        let token = try token("alice", room: "*")
        let answer = try await host().ask(.post, "/mobileLogin", body: "userName=alice&password=\(token)")
        let cookie = try #require(answer.headers[.setCookie])
        for part in ["flsocketim=alice.", "; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=2592000"] {
            #expect(cookie.contains(part))
        }
        #expect(!cookie.contains("Secure"), "over plain HTTP the apps would lose it")
    }

    @Test func `a picture of the room comes with its bytes`() async throws {
        let service = FakeConference()
        let host = await host(service)
        let alice = try await connect(host, "alice")
        _ = try await post(host, alice, #"42["__join",{"room":"demo"}]"#)
        _ = try await wait(host, alice, for: "_peers")
        let picture = ChatPicture(id: FakeConference.picture, type: "image/gif", bytes: 6)
        let message = ChatMessage(
            id: "1", from: "p1", fromName: "Anna", to: nil, text: "", picture: picture, at: .now)
        for event in service.state.withLock({ $0.events }) { event(SharedEvent(.chat(message))) }
        // Other packets may come before the event; its bytes follow it in the same answer.
        var packets: [String] = []
        for _ in 0..<50 where !packets.contains(where: { $0.contains("images/\(FakeConference.picture)") }) {
            packets = try await poll(host, alice)
        }
        let event = packets.firstIndex { $0.contains("images/\(FakeConference.picture)") }
        #expect(event.map { packets[($0 + 1)...].first } == "bytes")
    }
}
