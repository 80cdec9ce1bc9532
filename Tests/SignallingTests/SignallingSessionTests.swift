import Basics
import Foundation
import NIOCore
import Testing

@testable import Admission
@testable import Conference
@testable import RoomMedia
@testable import Signalling
@testable import WebServer

@Suite struct SignallingSessionTests {
    private let welcome = Welcome(
        room: "r", id: "p1", name: "Anna", role: .participant, resumeSecret: "s", participants: [],
        shown: ShownLayout(name: "grid"),
        recording: nil)

    /// The code, if the only action is an error that is not fatal.
    private func harmless(_ actions: [SignallingSession.Action]) -> String? {
        guard actions.count == 1, case .send(.error(let error, fatal: false))? = actions.first else { return nil }
        return error.message.isEmpty ? nil : error.code.rawValue
    }

    private func joined() -> SignallingSession {
        var session = SignallingSession(sdpLimit: 1000)
        _ = session.received(#"{"type":"join","room":"r","name":"Anna"}"#)
        _ = session.seated(welcome, iceServers: [])
        return session
    }

    @Test func `a ping is answered in a room`() {
        var outside = SignallingSession(sdpLimit: 1000)
        #expect(harmless(outside.received(#"{"type":"ping"}"#)) == "bad_message")
        var session = joined()
        #expect(session.received(#"{"type":"ping"}"#) == [.send(.pong)])
    }

    @Test func `a join requests a seat and gets joined`() {
        var asked = JoinRequest(room: "Daily stand-up", name: "Anna", layout: "speaker")
        asked.view = "portrait"
        asked.isNative = true
        var session = SignallingSession(sdpLimit: 1000)
        #expect(
            session.received(
                #"{"type":"join","room":"Daily stand-up","name":"  Anna ","token":"t","layout":"speaker","view":"portrait"}"#
            )
                == [.join(asked, asksRole: false, token: "t")])
        #expect(session.seated(welcome, iceServers: []) == [.send(.joined(welcome, iceServers: []))])
    }

    /// A join with an offer of so many bytes.
    private func join(offering count: Int) -> String {
        #"{"type":"join","room":"r","name":"Anna","offer":""# + String(repeating: "o", count: count) + #""}"#
    }

    @Test func `an offer that comes with a join is answered before joined, and one that is too long is refused`() {
        var session = SignallingSession(sdpLimit: 1000)
        let speaker = SharedEvent(.speaker("p2"))
        #expect(session.received(join(offering: 1000)).count == 1)
        #expect(session.takeOffer() == String(repeating: "o", count: 1000) && session.takeOffer() == nil)
        #expect(session.handleEvent(speaker).isEmpty)
        #expect(
            session.seated(welcome, iceServers: [], answer: "sdp") == [
                .send(.answer(sdp: "sdp")), .send(.joined(welcome, iceServers: [])), .send(.event(speaker)),
            ])
        var other = SignallingSession(sdpLimit: 1000)
        #expect(harmless(other.received(join(offering: 1001))) == "bad_sdp")
        #expect(other.received(join(offering: 10)).count == 1, "it may join after that")
    }

    @Test func `of who waits or is refused no offer is kept`() {
        var waiting = SignallingSession(sdpLimit: 1000)
        _ = waiting.received(join(offering: 10))
        _ = waiting.mustWait()
        #expect(waiting.waited(.admitted).isEmpty && waiting.takeOffer() == nil)
        var refused = SignallingSession(sdpLimit: 1000)
        _ = refused.received(join(offering: 10))
        _ = refused.refused(Refusal(.tooFast, "later"), wasResume: false)
        #expect(refused.takeOffer() == nil)
    }

    @Test func `a host comes back with a key, which joined and role tell, and a bot is none`() {
        var session = SignallingSession(sdpLimit: 1000)
        let actions = session.received(#"{"type":"join","room":"r","name":"Anna","hostKey":"secret","host":false}"#)
        guard case .join(let asked, _, _)? = actions.first else {
            Issue.record("no join")
            return
        }
        #expect(asked.hostKey == "secret" && !asked.mayHost)
        var hosted = welcome
        hosted.hostKey = "key"
        guard case .send(let joined)? = session.seated(hosted, iceServers: []).first else { return }
        #expect(String(buffer: joined.bytes).contains(#""hostKey":"key""#))
        guard case .send(let role)? = session.handleEvent(SharedEvent(.role(.moderator, hostKey: "other"))).first
        else { return }
        #expect(String(buffer: role.bytes) == #"{"hostKey":"other","role":"moderator","type":"role"}"#)
        #expect(session.received(#"{"type":"leave","returns":true}"#).first == .leave(returns: true))
    }

    @Test(arguments: [("", false), (#","drawsSigns":false"#, false), (#","drawsSigns":true"#, true)])
    func `a client says with its join whether it draws names and signs itself`(member: String, draws: Bool) {
        var session = SignallingSession(sdpLimit: 1000)
        let actions = session.received(#"{"type":"join","room":"r","name":"Anna"\#(member)}"#)
        guard case .join(let asked, _, _)? = actions.first else {
            Issue.record("no join")
            return
        }
        #expect(asked.drawsSigns == draws)
    }

    @Test func `a join whose drawsSigns is no boolean is told which member is wrong`() {
        var session = SignallingSession(sdpLimit: 1000)
        let actions = session.received(#"{"type":"join","room":"r","name":"Anna","drawsSigns":"yes"}"#)
        guard case .send(.error(let error, fatal: false))? = actions.first else {
            Issue.record("no error")
            return
        }
        #expect(error.code == .badMessage && error.message.contains("drawsSigns"), "\(error.message)")
    }

    @Test func `events during a join are sent after joined`() {
        var session = SignallingSession(sdpLimit: 1000)
        _ = session.received(#"{"type":"join","room":"r","name":"Anna"}"#)
        #expect(session.handleEvent(SharedEvent(.speaker("p2"))).isEmpty)
        #expect(session.handleEvent(SharedEvent(.layout(ShownLayout(name: "single")))).isEmpty)
        #expect(
            session.seated(welcome, iceServers: []) == [
                .send(.joined(welcome, iceServers: [])), .send(.event(SharedEvent(.speaker("p2")))),
                .send(.event(SharedEvent(.layout(ShownLayout(name: "single"))))),
            ])
    }

    @Test(arguments: [
        "", "nonsense", "[]", "{}", #"{"type":7}"#, #"{"type":"fly"}"#, #"{"type":"join"}"#,
        #"{"type":"join","room":"r"}"#,
        #"{"type":"join","room":7,"name":"a"}"#, #"{"type":"join","room":"../x","name":"a"}"#,
        #"{"type":"join","room":"r","name":"   "}"#,
        #"{"type":"join","room":"r","name":"a","role":"king"}"#, #"{"type":"offer","sdp":"v=0"}"#,
        #"{"type":"join","room":"","name":"a"}"#,
    ])
    func `a malformed frame gets an error and the connection stays`(text: String) {
        var session = SignallingSession(sdpLimit: 1000)
        let actions = session.received(text)
        #expect(harmless(actions) == "bad_message", "\(actions)")
        #expect(!session.received(#"{"type":"join","room":"r","name":"Anna"}"#).isEmpty)
    }

    @Test(arguments: [
        (#"{"type":"offer","sdp":"v=0"}"#, SignallingSession.SeatRequest.offer("v=0")),
        (
            #"{"type":"candidate","candidate":{"candidate":"candidate:1 1 udp 1 1.2.3.4 5 typ host","sdpMid":"0"}}"#,
            .candidate("candidate:1 1 udp 1 1.2.3.4 5 typ host")
        ),
        (#"{"type":"candidate","candidate":null}"#, .candidate(nil)),
        (#"{"type":"candidate","candidate":{"candidate":""}}"#, .candidate(nil)),
        (#"{"type":"state","audio":false}"#, .state(audio: false, video: nil, hand: nil)),
        (#"{"type":"state","video":true,"hand":true}"#, .state(audio: nil, video: true, hand: true)),
        (#"{"type":"layout","name":"speaker","scope":"room"}"#, .layout("speaker", .room, pins: nil)),
        (#"{"type":"layout","name":"speaker","scope":"me","pin":["p2"]}"#, .layout("speaker", .me, pins: ["p2"])),
        (#"{"type":"layout","scope":"me"}"#, .layout(nil, .me, pins: nil)),
        (#"{"type":"view","name":"portrait"}"#, .view("portrait")),
        (#"{"type":"present","on":true}"#, .present(true, audio: false)),
        (#"{"type":"present","on":true,"audio":true}"#, .present(true, audio: true)),
        (#"{"type":"chat","text":"hi"}"#, .chat("hi", to: nil)),
        (#"{"type":"chat","text":"hi","to":"p2"}"#, .chat("hi", to: "p2")),
        (#"{"type":"record","action":"pause"}"#, .record(.pause, id: nil)),
        (#"{"type":"record","action":"stop","id":"x"}"#, .record(.stop, id: "x")),
        (#"{"type":"mark","text":"Vote"}"#, .mark("Vote")),
        (#"{"type":"chat","text":"hi","all":true}"#, .chat("hi", to: nil, all: true)),
        (#"{"type":"record","action":"start","group":2}"#, .record(.start, id: nil, group: 2)),
    ])
    func `each message inside a room`(text: String, request: SignallingSession.SeatRequest) {
        var session = joined()
        #expect(session.received(text) == [.seat(request)])
    }

    @Test(arguments: [
        (ErrorCode.roomFull, SignallingSession.CloseCode.tryAgainLater), (.roomLocked, .policyViolation),
        (.unauthorized, .policyViolation),
        (.forbidden, .policyViolation), (.overloaded, .tryAgainLater), (.internalFailure, .internalError),
    ])
    func `a refused room is fatal and closes with a fitting code`(
        code: ErrorCode, close: SignallingSession.CloseCode
    ) {
        var session = SignallingSession(sdpLimit: 1000)
        _ = session.received(#"{"type":"join","room":"r","name":"Anna"}"#)
        #expect(
            session.refused(Refusal(code, "no"), wasResume: false) == [
                .send(.error(Refusal(code, "no"), fatal: true)), .close(close, reason: code.rawValue),
            ])
        #expect(session.isOver)
        #expect(session.received(#"{"type":"leave"}"#).isEmpty)
    }

    @Test func `after an unknown layout or too many joins the client may try again`() {
        for code in [ErrorCode.unknownLayout, .tooFast] {
            var session = SignallingSession(sdpLimit: 1000)
            _ = session.received(#"{"type":"join","room":"r","name":"Anna"}"#)
            #expect(
                session.refused(Refusal(code, "no"), wasResume: false) == [
                    .send(.error(Refusal(code, "no"), fatal: false))
                ])
            #expect(!session.received(#"{"type":"join","room":"r","name":"Anna"}"#).isEmpty)
        }
    }

    @Test func `a refusal has the time to wait`() throws {
        var session = SignallingSession(sdpLimit: 1000)
        _ = session.received(#"{"type":"join","room":"r","name":"Anna"}"#)
        let refusal = Refusal(.tooFast, "no", retryAfter: .milliseconds(2100))
        let actions = session.refused(refusal, wasResume: false)
        #expect(actions == [.send(.error(refusal, fatal: false))])
        guard case .send(let message)? = actions.first else { return }
        #expect(message.json["retryAfter"] == 3)
        #expect(ServerMessage.error(Refusal(.badSDP, "m"), fatal: false).json["retryAfter"] == nil)
    }

    @Test func `the refusal of a chat message says that it is about one, so that the client keeps its text`() {
        var session = joined()
        let text = String(repeating: "語", count: 3000)
        let actions = session.received(#"{"type":"chat","text":"\#(text)"}"#)
        guard case .send(let message)? = actions.first else { Issue.record("no answer"); return }
        #expect(message.json["about"] == "chat" && message.json["code"] == "bad_message")
        guard case .send(let other)? = session.received(#"{"type":"layout","name":"A"}"#).first else {
            Issue.record("no answer")
            return
        }
        #expect(other.json["code"] == "unknown_layout" && other.json["about"] == nil)
    }

    @Test func `a client above its limits loses the connection and the seat`() {
        var session = joined()
        let enough = Refusal(.tooFast, "enough", retryAfter: .seconds(1))
        #expect(
            session.exhausted(enough) == [
                .leave(), .send(.error(enough, fatal: true)), .close(.policyViolation, reason: "too_fast"),
            ])
        #expect(session.isOver)
    }

    @Test func `a bad offer does not end the seat`() {
        var session = joined()
        for refusal in [Refusal(.badSDP, "line 3"), Refusal(.recordingFailed, "disk full"), Refusal(.forbidden, "no")] {
            #expect(session.failed(refusal) == [.send(.error(refusal, fatal: false))], "no reason to leave the call")
        }
        #expect(ServerMessage.error(Refusal(.recordingFailed, "disk full"), fatal: false).json["code"] == "internal")
        #expect(session.received(#"{"type":"leave"}"#).first == .leave())
    }

    @Test func `an offer beyond the limit is bad SDP`() {
        var session = joined()
        let actions = session.received(#"{"type":"offer","sdp":"\#(String(repeating: "x", count: 1001))"}"#)
        #expect(harmless(actions) == "bad_sdp")
    }

    @Test func `a seat is resumed by its secret, and after an expired one the client can join again`() {
        var session = SignallingSession(sdpLimit: 1000)
        #expect(
            session.received(#"{"type":"join","resume":{"id":"p1","secret":"s"}}"#) == [
                .resume(ResumeClaim(id: "p1", secret: "s"))
            ])
        #expect(
            session.refused(Refusal(.unauthorized, "gone"), wasResume: true)
                == [.send(.error(Refusal(.unauthorized, "gone"), fatal: false))])
        #expect(!session.received(#"{"type":"join","room":"r","name":"Anna"}"#).isEmpty)
    }

    @Test func `a removed client gets the reason`() {
        var session = joined()
        #expect(
            session.handleEvent(SharedEvent(.left(.removed))) == [
                .send(.left(.removed)), .close(.normal, reason: "removed"),
            ])
        #expect(session.handleEvent(SharedEvent(.speaker("p1"))).isEmpty)
        #expect(session.disconnected().isEmpty)
        var other = joined()
        #expect(other.handleEvent(SharedEvent(.left(.draining))).last == .close(.goingAway, reason: "draining"))
    }

    @Test func `a client of a moving room is told, keeps its seat here, and is told when that ends`() {
        var session = joined()
        let moving = SharedEvent(ParticipantEvent.moving(within: .milliseconds(9500)))
        #expect(session.handleEvent(moving) == [.send(.event(moving))])
        #expect(String(buffer: ServerMessage.event(moving).bytes) == #"{"type":"moving","within":9.5}"#)
        #expect(
            session.handleEvent(SharedEvent(.left(.moved))) == [
                .send(.left(.moved)), .close(.goingAway, reason: "moved"),
            ])
        #expect(String(buffer: ServerMessage.left(.moved).bytes) == #"{"reason":"moved","type":"left"}"#)
    }

    @Test func `the room that is named beside a ticket goes to where the ticket is checked`() {
        var session = SignallingSession(sdpLimit: 1000)
        let text = #"{"type":"join","room":"r","name":"Anna","resume":{"id":"p1","secret":"a.b.c","room":"x"}}"#
        #expect(session.received(text) == [.resume(ResumeClaim(id: "p1", secret: "a.b.c", room: "r"))])
    }

    @Test func `the bearer of a seat has a secret of one part, or a ticket of three`() {
        #expect(ResumeClaim(bearer: "p1.s") == ResumeClaim(id: "p1", secret: "s"))
        #expect(ResumeClaim(bearer: "p1.a.b.c") == ResumeClaim(id: "p1", secret: "a.b.c"))
        // A token for rooms is none, nor what has empty parts.
        for text in ["a.b.c", "p1", ".s", "p1.", "p1.a..c", "p1.a.b.c.d", ""] {
            #expect(ResumeClaim(bearer: text) == nil, "\(text)")
        }
    }

    @Test func `a lost connection keeps the seat, leave ends it`() {
        var lost = joined()
        #expect(lost.disconnected() == [.lost])
        var gone = joined()
        #expect(
            gone.received(#"{"type":"leave"}"#) == [.leave(), .send(.left(.left)), .close(.normal, reason: "left")])
        #expect(gone.disconnected().isEmpty)
    }

    @Test func `a seat that is granted after the client's end is left`() {
        var session = SignallingSession(sdpLimit: 1000)
        _ = session.received(#"{"type":"join","room":"r","name":"Anna"}"#)
        _ = session.disconnected()
        #expect(session.seated(welcome, iceServers: []) == [.leave()])
    }

    @Test func `a client with deltas gets the list with the welcome, and again after a missing announcement`() {
        var (announcer, people) = (RosterAnnouncer(), [person("p1")])
        var welcome = welcome
        welcome.participants = people
        func announce(_ second: Int64) -> SharedEvent {
            guard
                case .announce(let update) = announcer.changed(
                    { people }, at: Instant(nanoseconds: second * 1_000_000_000))
            else {
                Issue.record("nothing to announce")
                return SharedEvent(.speaker(nil))
            }
            return SharedEvent(.participants(update))
        }
        var session = SignallingSession(sdpLimit: 1000)
        _ = session.received(#"{"type":"join","room":"r","name":"Anna","deltas":true}"#)
        #expect(
            session.seated(welcome, iceServers: []) == [.send(.joined(welcome, iceServers: [], countsViewers: true))])
        var other = joined()
        let first = announce(1)
        #expect(session.handleEvent(first).isEmpty, "it is the list of the welcome")
        #expect(other.handleEvent(first) == [.send(.event(first, .everyone))])
        people.append(person("p2"))
        let second = announce(2)
        #expect(session.handleEvent(second) == [.send(.event(second, .change))])
        #expect(other.handleEvent(second) == [.send(.event(second, .everyone))])
        people.append(person("p3"))
        _ = announce(3)
        people[0].hand = true
        let fourth = announce(4)
        #expect(session.handleEvent(fourth) == [.send(.event(fourth, .roster))], "the third was left out somewhere")
        people.append(person("p4", role: .viewer))
        let fifth = announce(5)
        #expect(session.handleEvent(fifth) == [.send(.event(fifth, .change))])
        people[3].name = "Somebody"
        let sixth = announce(6)
        #expect(session.handleEvent(sixth).isEmpty, "nobody is told who watches")
        #expect(other.handleEvent(sixth) == [.send(.event(sixth, .everyone))])
        people[0].hand = false
        var back = SignallingSession(sdpLimit: 1000)
        _ = back.received(#"{"type":"join","resume":{"id":"p1","secret":"s"},"deltas":true}"#)
        _ = back.seated(welcome, iceServers: [])
        let seventh = announce(7)
        var change = RosterChange(viewers: 1)
        change.joined = [person("p2"), person("p3")]
        #expect(
            back.handleEvent(seventh) == [.send(.changed(change))], "what differs from the list that it came back to")
        #expect(session.handleEvent(seventh) == [.send(.event(seventh, .change))])
    }

    /// What others have written stands beside secrets in the welcome, which is compressed where they are told once.
    @Test func `descriptions, tiles and the welcome to a new seat may be compressed, and nothing else`() {
        let isCompressible = { (sent: ServerMessage) in ServerMessage.isCompressible(sent.bytes) }
        #expect(isCompressible(.answer(sdp: "v=0\r\n")))
        let tiles = TilesInfo(width: 1280, height: 720, tiles: [])
        #expect(isCompressible(.event(SharedEvent(.tiles(tiles)))))
        var fresh = welcome
        fresh.isFresh = true
        #expect(isCompressible(.joined(fresh, iceServers: [])))
        var hosted = fresh
        hosted.hostKey = "key"
        // A seat that comes back, and texts that try to look like another message.
        var named = welcome
        named.name = #"{"sdp":","fresh":true,"#
        named.chat = [
            ChatMessage(
                id: "c", from: "p2", fromName: #"","fresh":true,"#, text: #","fresh":true,"type":"joined","#, at: Date()
            )
        ]
        let chat = SharedEvent(.chat(named.chat[0]))
        let others: [ServerMessage] = [
            .joined(welcome, iceServers: []), .joined(hosted, iceServers: []), .joined(named, iceServers: []),
            .event(chat), .pong, .waiting, .left(.left),
        ]
        for other in others { #expect(!isCompressible(other), "\(other)") }
    }

    @Test func `during a join the newest event of each state waits`() {
        var session = SignallingSession(sdpLimit: 1000)
        _ = session.received(#"{"type":"join","room":"r","name":"Anna"}"#)
        for number in 0..<100 { _ = session.handleEvent(SharedEvent(.speaker("p\(number)"))) }
        _ = session.handleEvent(SharedEvent(.layout(ShownLayout(name: "single"))))
        #expect(
            session.seated(welcome, iceServers: []).dropFirst() == [
                .send(.event(SharedEvent(.speaker("p99")))),
                .send(.event(SharedEvent(.layout(ShownLayout(name: "single"))))),
            ])
    }

    @Test func `binary frames and second joins are errors that change nothing`() {
        var session = joined()
        for actions in [session.receivedBinary(), session.received(#"{"type":"join","room":"r","name":"Anna"}"#)] {
            #expect(harmless(actions) == "bad_message")
        }
        #expect(session.received(#"{"type":"present","on":true}"#) == [.seat(.present(true, audio: false))])
        #expect(session.received(#"{"type":"recorded","on":false}"#) == [.seat(.recorded(false))])
        #expect(harmless(session.received(#"{"type":"recorded"}"#)) == "bad_message")
    }

    @Test(arguments: [(#""recorded":false,"#, [RecordingRefusal.own]), (#""recorded":true,"#, []), ("", [])])
    func `a join may refuse to be recorded from the start`(member: String, refusals: [RecordingRefusal]) {
        var session = SignallingSession(sdpLimit: 1000)
        let actions = session.received(#"{"type":"join",\#(member)"room":"r","name":"Anna"}"#)
        guard case .join(let request, _, _)? = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(request.unrecordedBy == Set(refusals))
    }
}

/// A participant with everything switched off.
func person(_ id: String, role: Role = .participant) -> ParticipantInfo {
    ParticipantInfo(
        id: id, name: "Anna", role: role, audio: false, video: false, hand: false, speaking: false, presenting: false,
        audioMuted: false,
        videoMuted: false, pinned: false, volume: 1)
}

@Suite struct ServerMessageTests {
    private func object(_ message: ServerMessage) throws -> JSONValue {
        try JSON.decode(JSONValue.self, from: message.bytes.readableBytesView)
    }

    @Test func `joined has all fields of the contract`() throws {
        let anna = person("p1", role: .moderator)
        let json = try object(
            .joined(
                Welcome(
                    room: "r", id: "p1", name: "Anna", role: .moderator, resumeSecret: "s", participants: [anna],
                    shown: ShownLayout(name: "grid"),
                    recording: nil), iceServers: [.init(urls: ["stun:s"])]))
        #expect(json["type"] == "joined")
        #expect(json["room"] == "r")
        #expect(
            json["you"] == ["id": "p1", "name": "Anna", "role": "moderator", "resume": ["id": "p1", "secret": "s"]])
        #expect(json["iceServers"] == [["urls": ["stun:s"]]])
        #expect(json["layout"] == "grid" && json["scope"] == "room")
        #expect(json["view"] == "main" && json["views"] == ["main"])
        #expect(json["recording"] == .null)
        guard case .array(let people)? = json["participants"] else { Issue.record("no participants"); return }
        for key in ["id", "name", "role", "audio", "video", "hand", "speaking", "presenting"] {
            #expect(people[0][key] != nil)
        }
    }

    @Test func `joined says that the seat has no media yet, and nothing of it where a seat goes on`() throws {
        var welcome = Welcome(
            room: "r", id: "p1", name: "Anna", role: .participant, resumeSecret: "s", participants: [],
            shown: ShownLayout(name: "grid"))
        #expect(try object(.joined(welcome, iceServers: []))["fresh"] == nil)
        welcome.isFresh = true
        #expect(try object(.joined(welcome, iceServers: []))["fresh"] == true)
        #expect(try object(.pong) == ["type": "pong"])
    }

    @Test func `a layout says whose it is, and in which view`() throws {
        let shown = ShownLayout(name: "speaker", view: "portrait", scope: .me, pins: ["p2"])
        let json = try object(.event(SharedEvent(.layout(shown))))
        #expect(json == ["type": "layout", "name": "speaker", "view": "portrait", "scope": "me", "pin": ["p2"]])
        let changed = try object(.event(SharedEvent(.layout(ShownLayout(name: "grid"), by: "p3"))))
        #expect(
            changed == [
                "type": "layout", "name": "grid", "view": "main", "scope": "room", "pin": .array([]), "by": "p3",
            ])
    }

    @Test func `participants have three forms`() throws {
        var roster = Roster([person("p1"), person("p2")])
        let everyone = [person("p2"), person("p3"), person("p4", role: .viewer)]
        let change = roster.change(to: everyone)
        roster.apply(change)
        let told = SharedEvent(
            .participants(RosterUpdate(number: 7, everyone: everyone, roster: roster, change: change, isVisible: true)))
        func ids(_ list: JSONValue?) -> [String] {
            guard case .array(let people)? = list else { return ["no list"] }
            return people.map { if case .string(let id)? = $0["id"] { id } else { "?" } }
        }
        let whole = try object(.event(told, .everyone))
        #expect(
            whole["type"] == "participants" && ids(whole["participants"]) == ["p2", "p3", "p4"]
                && whole["viewers"] == nil)
        let list = try object(.event(told, .roster))
        #expect(list["type"] == "participants" && ids(list["participants"]) == ["p2", "p3"] && list["viewers"] == 1)
        let changed = try object(.event(told, .change))
        #expect(
            changed["type"] == "participantsChanged" && ids(changed["joined"]) == ["p3"]
                && ids(changed["changed"]).isEmpty)
        #expect(changed["left"] == ["p1"] && changed["viewers"] == 1)
    }

    @Test func `joined counts viewers for clients with deltas`() throws {
        let welcome = Welcome(
            room: "r", id: "p1", name: "Anna", role: .participant, resumeSecret: "s",
            participants: [person("p1"), person("p2", role: .viewer)], shown: ShownLayout(name: "grid"), recording: nil)
        #expect(try object(.joined(welcome, iceServers: []))["viewers"] == nil)
        let json = try object(.joined(welcome, iceServers: [], countsViewers: true))
        guard case .array(let people)? = json["participants"] else { Issue.record("no participants"); return }
        #expect(people.count == 1 && json["viewers"] == 1)
    }

    @Test func `a participant of whom something is missing says what`() {
        var ada = person("p1")
        (ada.audio, ada.video) = (true, true)
        #expect(ada.json["missing"] == nil)
        ada.missing = [.audio, .video]
        #expect(ada.json["missing"] == ["audio", "video"] && ada.json["audio"] == true)
        ada.missing = .video
        #expect(ada.json["missing"] == ["video"])
    }

    @Test func `an event for many clients is encoded once`() {
        let message = ServerMessage.event(SharedEvent(.speaker("p1")))
        #expect(message.bytes == ByteBuffer(bytes: message.json.bytes))
        let storage = { message.bytes.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) } }
        #expect(storage() == storage())
    }

    @Test func `the other messages`() throws {
        #expect(try object(.event(SharedEvent(.speaker(nil)))) == ["type": "speaker", "participant": .null])
        #expect(try object(.answer(sdp: "v=0\r\n")) == ["type": "answer", "sdp": "v=0\r\n"])
        #expect(
            try object(.error(Refusal(.badSDP, "m"), fatal: false)) == [
                "type": "error", "code": "bad_sdp", "message": "m", "fatal": false,
            ])
        #expect(try object(.left(.removed)) == ["type": "left", "reason": "removed"])
        #expect(
            try object(.event(SharedEvent(.recording(nil)))) == [
                "type": "recording", "recording": .null, "recordings": .array([]),
            ])
        let link = LinkState(
            estimate: .kilobits(3), sent: .kilobits(2), received: .kilobits(1), lossDown: 0.5, lossUp: 0,
            roundTrip: .milliseconds(20), rung: 720,
            reason: LinkReason(.serverBusy, "The server is busy."))
        let told = try object(.event(SharedEvent(.link(link))))
        #expect(told["sent"] == 2000 && told["reason"] == "The server is busy." && told["reasonCode"] == "server_busy")
        #expect(told["heard"] == "nothing" && told["seen"] == "nothing" && told["asked"] == 0)
        #expect(
            try object(
                .event(
                    SharedEvent(
                        .tiles(
                            TilesInfo(
                                width: 2, height: 2, tiles: [.init(participant: "p", x: 0, y: 0, width: 2, height: 2)]))
                    )))
                == [
                    "type": "tiles", "width": 2, "height": 2,
                    "tiles": [["participant": "p", "x": 0, "y": 0, "width": 2, "height": 2, "label": true]],
                ])
        let chat = try object(.event(SharedEvent(.chat(Self.message("hi")))))
        #expect(
            chat == [
                "type": "chat", "id": "id of hi", "from": "p", "name": "Anna", "text": "hi",
                "at": "1970-01-01T00:00:00Z",
            ])
    }

    private static func message(_ text: String) -> ChatMessage {
        ChatMessage(
            id: "id of \(text)", from: "p", fromName: "Anna", text: text, at: Date(timeIntervalSince1970: 0))
    }

    @Test func `a picture of the chat is told by its path, type and size`() throws {
        var message = Self.message("")
        message.picture = ChatPicture(id: "k3.jpg", type: "image/jpeg", bytes: 1234)
        message.to = "p2"
        #expect(
            try object(.event(SharedEvent(.chat(message)))) == [
                "type": "chat", "id": "id of ", "from": "p", "name": "Anna", "text": "", "to": "p2",
                "at": "1970-01-01T00:00:00Z",
                "picture": ["url": "/images/k3.jpg", "type": "image/jpeg", "bytes": 1234],
            ])
    }

    @Test func `joined has the latest messages, and none of them comes again behind it`() throws {
        var session = SignallingSession(sdpLimit: 1000)
        _ = session.received(#"{"type":"join","room":"r","name":"Anna"}"#)
        for text in ["two", "three"] { _ = session.handleEvent(SharedEvent(.chat(Self.message(text)))) }
        let welcome = Welcome(
            room: "r", id: "p1", name: "Anna", role: .participant, resumeSecret: "s", participants: [],
            shown: ShownLayout(name: "grid"),
            chat: [Self.message("one"), Self.message("two")])
        let actions = session.seated(welcome, iceServers: [])
        #expect(
            actions == [
                .send(.joined(welcome, iceServers: [])), .send(.event(SharedEvent(.chat(Self.message("three"))))),
            ])
        let one = try object(.event(SharedEvent(.chat(Self.message("one")))))
        let two = try object(.event(SharedEvent(.chat(Self.message("two")))))
        #expect(try object(.joined(welcome, iceServers: []))["chat"] == [one, two])
    }
}
