import Conference
import Testing

@testable import Admission
@testable import Signalling
@testable import WebServer

/// The session of a client that waits to be let in.
@Suite struct WaitingSessionTests {
    private let welcome = Welcome(
        room: "r", id: "p1", name: "Anna", role: .participant, resumeSecret: "s", participants: [],
        shown: ShownLayout(name: "grid"),
        recording: nil)

    private func waiting() -> SignallingSession {
        var session = SignallingSession(sdpLimit: 1000)
        _ = session.received(#"{"type":"join","room":"r","name":"Anna"}"#)
        #expect(session.mustWait() == [.send(.waiting)])
        return session
    }

    @Test func `who is let in joins`() {
        var session = waiting()
        #expect(session.handleEvent(SharedEvent(.speaker("p2"))).isEmpty, "nothing of the room")
        #expect(session.waited(.admitted).isEmpty && session.isJoining)
        #expect(session.seated(welcome, iceServers: []) == [.send(.joined(welcome, iceServers: []))])
    }

    @Test(arguments: [WaitingEnd.refused, .timeout, .ended(.roomEnded)])
    func `who is not let in gets a fatal error`(end: WaitingEnd) {
        var session = waiting()
        let actions = session.waited(end)
        guard actions.count == 2, case .send(.error(let error, fatal: true)) = actions[0],
            case .close(.policyViolation, _) = actions[1]
        else {
            Issue.record("no fatal error")
            return
        }
        #expect(error.code == .refused && session.isOver)
        #expect(session.waited(.admitted).isEmpty && !session.isJoining)
    }

    @Test func `the server's end closes`() {
        var session = waiting()
        #expect(session.waited(.ended(.draining)) == [.close(.goingAway, reason: "draining")])
    }

    @Test func `a ping of who waits is answered, also while a moderator lets it in`() {
        var session = waiting()
        #expect(session.received(#"{"type":"ping"}"#) == [.send(.pong)])
        #expect(session.waited(.admitted).isEmpty)
        #expect(session.received(#"{"type":"ping"}"#) == [.send(.pong)])
        #expect(session.seated(welcome, iceServers: []) == [.send(.joined(welcome, iceServers: []))])
        var refused = waiting()
        _ = refused.waited(.refused)
        #expect(refused.received(#"{"type":"ping"}"#).isEmpty)
    }

    @Test func `who waits may only leave and ping`() {
        var session = waiting()
        for text in [
            #"{"type":"join","room":"r","name":"Anna"}"#, #"{"type":"chat","text":"let me in"}"#,
            #"{"type":"moderate","action":"admit"}"#, #"{"type":"offer","sdp":"v=0"}"#,
        ] {
            let actions = session.received(text)
            guard actions.count == 1, case .send(.error(let error, fatal: false)) = actions[0] else {
                Issue.record("\(text) was taken")
                continue
            }
            #expect(error.code == .badMessage)
        }
        #expect(session.received(#"{"type":"leave"}"#) == [.stopWaiting, .close(.normal, reason: "left")])
    }

    @Test func `a lost or exhausted connection gives its place up`() {
        var lost = waiting()
        #expect(lost.disconnected() == [.stopWaiting])
        #expect(lost.waited(.admitted).isEmpty && !lost.isJoining)
        var exhausted = waiting()
        #expect(exhausted.exhausted(Refusal(.tooFast, "too many")).first == .stopWaiting)
        // The connection ended while the join found out that it has to wait.
        var early = SignallingSession(sdpLimit: 1000)
        _ = early.received(#"{"type":"join","room":"r","name":"Anna"}"#)
        _ = early.disconnected()
        #expect(early.mustWait() == [.stopWaiting])
    }

    @Test(arguments: [
        (#"{"type":"moderate","action":"mute","participant":"p"}"#, Moderation.mute("p")),
        (#"{"type":"moderate","action":"muteAll"}"#, .muteAll),
        (#"{"type":"moderate","action":"role","participant":"p","role":"presenter"}"#, .changeRole("p", .presenter)),
        (#"{"type":"moderate","action":"volume","participant":"p","volume":0.5}"#, .setVolume("p", 0.5)),
        (#"{"type":"moderate","action":"recorded","participant":"p","recorded":false}"#, .setRecorded("p", false)),
        (#"{"type":"moderate","action":"admit"}"#, .admit(nil)),
        (#"{"type":"moderate","action":"refuse","participant":"w"}"#, .refuse("w")),
        (#"{"type":"moderate","action":"refuseAddress","participant":"w"}"#, .refuseAddress("w")),
        (#"{"type":"moderate","action":"end"}"#, .end),
    ])
    func `moderation is read`(text: String, moderation: Moderation) throws {
        #expect(try ClientMessage.parse(text) == .moderate(moderation))
    }

    @Test(arguments: [
        #"{"type":"moderate"}"#, #"{"type":"moderate","action":"mute"}"#, #"{"type":"moderate","action":"dance"}"#,
        #"{"type":"moderate","action":"role","participant":"p"}"#, #"{"type":"room"}"#,
        #"{"type":"moderate","action":"role","participant":"p","role":"king"}"#,
        #"{"type":"moderate","action":"recorded","participant":"p"}"#,
        #"{"type":"moderate","action":"volume","participant":"p"}"#, #"{"type":"room","locked":"yes"}"#,
        #"{"type":"room","admit":"nobody"}"#, #"{"type":"room","pin":1234}"#,
        #"{"type":"moderate","action":"mute","participant":["a"]}"#,
    ])
    func `what is no moderation is a bad message`(text: String) {
        #expect { try ClientMessage.parse(text) } throws: { ($0 as? Refusal)?.code == .badMessage }
    }
}
