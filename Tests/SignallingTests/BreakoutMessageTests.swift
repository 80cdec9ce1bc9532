import Basics
import Conference
import Testing

@testable import Admission
@testable import Signalling
@testable import WebServer

@Suite struct BreakoutMessageTests {
    @Test(arguments: [
        (
            #"{"type":"breakout","action":"make","names":["Red","Blue"]}"#,
            BreakoutRequest.make(BreakoutPlan(names: ["Red", "Blue"]))
        ),
        (
            #"{"type":"breakout","action":"make","names":["Red"],"mayChoose":true}"#,
            .make(BreakoutPlan(names: ["Red"], mayChoose: true))
        ),
        (#"{"type":"breakout","action":"rename","group":2,"name":"Kitchen"}"#, .rename(2, "Kitchen")),
        (#"{"type":"breakout","action":"assign","places":{"p1":1,"p2":0}}"#, .assign(["p1": 1, "p2": 0])),
        (#"{"type":"breakout","action":"fill"}"#, .fill),
        (#"{"type":"breakout","action":"allowChoice","mayChoose":false}"#, .allowChoice(false)),
        (#"{"type":"breakout","action":"open"}"#, .open(endsIn: nil)),
        (#"{"type":"breakout","action":"open","endsIn":90}"#, .open(endsIn: .seconds(90))),
        (#"{"type":"breakout","action":"setEnd","endsIn":null}"#, .setEnd(in: nil)),
        (#"{"type":"breakout","action":"callBack"}"#, .callBack(.seconds(60))),
        (#"{"type":"breakout","action":"callBack","countdown":0}"#, .callBack(.zero)),
        (#"{"type":"breakout","action":"close"}"#, .close),
        (#"{"type":"breakout","action":"listen","groups":[1,3],"look":3}"#, .listen([1, 3], look: 3)),
        (#"{"type":"breakout","action":"speakToAll","on":true}"#, .speakToAll(true)),
        (#"{"type":"breakout","action":"choose","group":0}"#, .choose(0)),
    ])
    func `each action`(text: String, request: BreakoutRequest) throws {
        #expect(try ClientMessage.parse(text) == .breakout(request))
    }

    @Test(arguments: [
        #"{}"#, #"{"action":"fly"}"#, #"{"action":"make"}"#, #"{"action":"make","names":"two"}"#,
        #"{"action":"rename","group":1}"#,
        #"{"action":"assign"}"#, #"{"action":"assign","places":{"p1":"1"}}"#, #"{"action":"open","endsIn":"soon"}"#,
        #"{"action":"open","endsIn":1e300}"#, #"{"action":"open","endsIn":-1}"#,
        #"{"action":"callBack","countdown":1e9}"#,
        #"{"action":"listen"}"#, #"{"action":"listen","groups":[1.5]}"#, #"{"action":"choose"}"#,
        #"{"action":"choose","group":1e30}"#,
        #"{"action":"speakToAll"}"#,
    ])
    func `what makes no sense is a bad message`(rest: String) {
        let text = #"{"type":"breakout","# + (rest == "{}" ? #""x":1}"# : String(rest.dropFirst()))
        let refusal = #expect(throws: Refusal.self) { try ClientMessage.parse(text) }
        #expect(refusal?.code == .badMessage)
    }

    @Test func `a list of more groups than there can be is refused before the room is asked`() {
        let groups = (0...52).map(String.init).joined(separator: ",")
        #expect(throws: Refusal.self) {
            try ClientMessage.parse(#"{"type":"breakout","action":"listen","groups":[\#(groups)]}"#)
        }
    }

    private var info: BreakoutInfo {
        BreakoutInfo(
            phase: .open,
            groups: [.init(number: 1, name: "Red", participants: ["p1", "p2"], listeners: ["h"], recording: "rec")],
            endsIn: .seconds(59.6), speakers: ["h"])
    }

    @Test func `participants are told less than moderators`() {
        let guest = BreakoutNotice(info: info, isHost: false, own: 1).message
        #expect(
            guest == [
                "type": "breakout", "state": "open", "mayChoose": false, "mayMove": false, "own": 1, "speakers": ["h"],
                "endsIn": 60,
                "groups": [["id": 1, "name": "Red", "people": 2, "listeners": ["h"], "recording": "rec"]],
            ])
        var notice = BreakoutNotice(info: info, isHost: true)
        (notice.listensTo, notice.looksInto, notice.speaksToAll) = ([1], 1, true)
        let host = notice.message
        #expect(host["listensTo"] == [1] && host["looksInto"] == 1 && host["speaksToAll"] == true)
        guard case .array(let groups)? = host["groups"] else {
            Issue.record("no groups")
            return
        }
        #expect(groups.first?["participants"] == ["p1", "p2"])
        #expect(BreakoutNotice(info: nil, isHost: true).message == ["type": "breakout", "state": "none"])
    }
}
