import Basics
import Foundation
import Mixing
import RoomMedia
import TestSupport
import Testing

@testable import Conference

/// A generator whose numbers follow from its seed (SplitMix64).
private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

@Suite("Breakout groups")
struct BreakoutTests {
    private var room = Room(id: "r", settings: RoomSettings(), createdAt: Date(timeIntervalSince1970: 0), at: .zero)
    private var random = Seeded(state: 7)
    private var now = Instant.zero + .seconds(100)

    /// A host and four guests, with one picture for all of a group.
    init() throws {
        room.settings.withoutSelf = false
        for id in ["host", "ann", "bob", "cem", "dan"] { try join(id) }
    }

    private mutating func join(_ id: String, _ change: (inout AdmittedJoin) -> Void = { _ in }) throws {
        var request = AdmittedJoin(room: "r", name: id)
        (request.roleIsProven, request.isNative) = (false, true)
        change(&request)
        _ = try room.join(request, id: id, secret: "s", at: now)
    }

    private mutating func ask(_ request: BreakoutRequest, by id: String? = "host", limit: Int = .max)
        throws(ConferenceError)
    {
        try room.breakOut(request, by: id, limit: limit, at: now, using: &random)
    }

    /// Why a request is refused; nil: it is not. It is not done.
    private func refusal(_ request: BreakoutRequest, by id: String? = "host") -> String? {
        var copy = self
        do throws(ConferenceError) {
            try copy.ask(request, by: id)
            return nil
        } catch {
            return error.kind
        }
    }

    private func speaker(_ id: String) -> String? { room.member(id).flatMap { room.speaker(for: $0) } }

    private mutating func make(_ count: Int = 2, mayChoose: Bool = false) throws {
        try ask(.make(BreakoutPlan(names: (1...count).map { "G\($0)" }, mayChoose: mayChoose)))
    }

    /// Ann and Bob in group 1, Cem in group 2, the host and Dan in the room.
    private mutating func openTwo(endsIn: Duration? = nil) throws {
        try make()
        try ask(.assign(["ann": 1, "bob": 1, "cem": 2]))
        try ask(.open(endsIn: endsIn))
    }

    private var places: [Int] { room.members.map { room.place(of: $0).number } }
    private var scene: Scene { RoomRecord.scene(of: room) { LayoutLibrary.builtIn[$0] } }
    private func notice(_ id: String) -> BreakoutNotice? {
        room.member(id).map { room.breakoutNotice(for: $0, room.breakoutInfo(at: now)) }
    }

    // MARK: - Who is where

    @Test("people are moved when the groups open, not before, and are back when they close")
    mutating func life() throws {
        try make()
        try ask(.assign(["ann": 1, "bob": 1, "cem": 2]))
        #expect(places == [0, 0, 0, 0, 0] && room.infos.allSatisfy { $0.group == 0 })
        try ask(.open(endsIn: nil))
        #expect(places == [0, 1, 1, 2, 0] && room.infos.map(\.group) == places)
        try ask(.assign(["bob": 2, "ann": 0]))
        #expect(places == [0, 0, 2, 2, 0])
        try ask(.close)
        #expect(places == [0, 0, 0, 0, 0] && room.breakout == nil)
    }

    @Test("the scene has each person in its group, and each group its view with its layout")
    mutating func scenes() throws {
        try openTwo()
        #expect(scene.people.map(\.group.number) == [0, 1, 1, 2, 0])
        #expect(room.views["ann"] == ViewID("main", group: GroupID(1)) && room.views["dan"] == .main)
        try room.setLayout("speaker", pins: ["bob"], by: "ann")
        #expect(room.shown(room.views["bob"] ?? .main).name == "speaker")
        #expect(room.shown(.main).name == "grid" && room.settings.layout == "grid")
        #expect(room.shown(room.views["cem"] ?? .main).name == "grid" && room.member("bob")?.isPinned == true)
        try ask(.close)
        #expect(room.views.values.allSatisfy { $0 == .main })
    }

    @Test("two in a group each get its picture without themselves, and a host who looks in the picture for all")
    mutating func two() throws {
        room.settings.withoutSelf = true
        try openTwo()
        let (one, two) = (ViewID("main", group: GroupID(1)), ViewID("main", group: GroupID(2)))
        #expect(room.views["ann"] == one.without("ann") && room.views["bob"] == one.without("bob"))
        #expect(room.views["cem"] == two && room.views["dan"] == .main.without("dan"))
        try ask(.listen([], look: 1))
        #expect(room.views["host"] == one && room.views["dan"] == .main.without("dan"))
        let before = room
        try ask(.assign(["cem": 1]))
        #expect(["ann", "bob", "cem"].allSatisfy { room.views[$0] == one } && !room.hasSamePictures(as: before))
        try room.present("dan", true)
        #expect(room.views["dan"] == .main, "somebody presents in the room itself")
        try ask(.close)
        #expect(room.views.values.allSatisfy { $0 == .main })
    }

    @Test("presenting in one group changes the layout there alone, and goes along with who moves")
    mutating func presenting() throws {
        try openTwo()
        try room.present("ann", true)
        #expect(room.shown(room.views["bob"] ?? .main).name == "presentation")
        #expect(room.shown(room.views["cem"] ?? .main).name == "grid" && room.shown(.main).name == "grid")
        // What is chosen during a presenting counts until its end, whatever others do elsewhere.
        try room.setLayout("speaker", pins: nil, by: "bob")
        try room.present("cem", true)
        #expect(room.shown(room.views["bob"] ?? .main).name == "speaker")
        try ask(.assign(["ann": 0]))
        #expect(room.shown(.main).name == "presentation")
    }

    @Test("each group has its own speaker, and who moves is none any more")
    mutating func speakers() throws {
        try openTwo()
        room.speakers(Speakers(active: "ann", ranks: ["ann", "bob"], speaking: ["ann"]), in: GroupID(1))
        room.speakers(Speakers(active: "dan", ranks: ["dan"], speaking: ["dan"]))
        // A report from before the opening.
        room.speakers(Speakers(active: "ann", ranks: ["ann", "host"], speaking: ["ann"]))
        #expect(speaker("bob") == "ann" && speaker("cem") == nil && room.speaker == nil)
        #expect(scene.speech.speakers == [GroupID(1): "ann"] && scene.speech.ranks == ["ann": 0, "bob": 1, "host": 0])
        try room.setState("ann", audio: nil, video: nil, hand: true)
        try ask(.assign(["ann": 2]))
        let ann = try #require(room.member("ann"))
        #expect(!room.isSpeaking(ann) && !ann.hand)
        #expect(speaker("bob") == nil)
    }

    @Test("mutes and hands are of the group of who asks")
    mutating func moderation() throws {
        try openTwo()
        try ask(.assign(["host": 1]))
        for id in ["ann", "cem"] { try room.setState(id, audio: nil, video: nil, hand: true) }
        let muted = try room.moderate(.muteAll, by: "host").map(\.id)
        #expect(muted == ["ann", "bob"])
        _ = try room.moderate(.lowerHands, by: "host")
        #expect(room.member("ann")?.hand == false && room.member("cem")?.hand == true)
    }

    @Test("who comes late is in the room, who loses the connection comes back to the group, who leaves is forgotten")
    mutating func comingAndGoing() throws {
        room.keepsSeats = true
        try openTwo()
        try join("eve")
        #expect(room.place(of: "eve") == .main)
        room.noteAbsence(of: "ann", .timeout)
        room.leave("ann", at: now)
        room.noteAbsence(of: "cem", .left)
        room.leave("cem", at: now)
        #expect(room.breakout?.assigned == ["ann": GroupID(1), "bob": GroupID(1)])
        let ticket = SeatTicket(
            room: "r", meeting: room.meetingID, id: "ann", name: "ann", role: .participant, roleIsProven: false,
            isNative: true, issuedAt: Date())
        try join("ann") { $0.ticket = ticket }
        #expect(room.place(of: "ann") == GroupID(1))
    }

    @Test("viewers stay in the room, but for one that stands for a participant")
    mutating func viewers() throws {
        try join("viewer") { $0.role = .viewer }
        try join("player") { ($0.kind, $0.asParticipant) = (.viewer, "ann") }
        try make()
        #expect(refusal(.assign(["viewer": 1])) == "conflict")
        try ask(.assign(["ann": 1]))
        try ask(.open(endsIn: nil))
        #expect(room.place(of: "viewer") == .main && room.place(of: "player") == GroupID(1))
        #expect(room.views["player"] == ViewID("main", group: GroupID(1)))
        _ = try room.moderate(.audience("ann"), by: "host")
        #expect(room.place(of: "ann") == .main)
    }

    // MARK: - Filling and choosing

    @Test("the rest is distributed evenly and by chance, without moderators and viewers", arguments: seeds(1...20))
    mutating func fill(seed: UInt64) throws {
        random = Seeded(state: seed)
        try join("viewer") { $0.role = .viewer }
        for number in 0..<18 { try join("p\(number)") }
        try make(4)
        try ask(.assign(["ann": 3]))
        try ask(.fill)
        let info = try #require(room.breakoutInfo(at: now))
        let sizes = info.groups.map(\.participants.count)
        #expect(
            sizes.reduce(0, +) == 22 && (sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1
                && room.breakout?.assigned["host"] == nil)
        #expect(room.breakout?.assigned["ann"] == GroupID(3))
        // Another seed gives other groups.
        let first = room.breakout?.assigned
        random = Seeded(state: seed &+ 1000)
        try make(4)
        try ask(.assign(["ann": 3]))
        try ask(.fill)
        #expect(room.breakout?.assigned != first)
    }

    @Test("participants choose where they may, and go back where no moderator is left")
    mutating func choosing() throws {
        try openTwo()
        #expect(refusal(.choose(2), by: "ann") == "forbidden" && refusal(.choose(0), by: "ann") == "forbidden")
        #expect(refusal(.allowChoice(true), by: "ann") == "forbidden")
        try ask(.allowChoice(true))
        try ask(.choose(2), by: "ann")
        #expect(room.place(of: "ann") == GroupID(2) && notice("ann")?.mayMove == true)
        #expect(
            refusal(.choose(3), by: "ann") == "badRequest" && refusal(.choose(1), by: "nobody") == "participantNotFound"
        )
        try ask(.allowChoice(false))
        // A room whose moderators are all gone is left to itself.
        for id in ["bob", "cem", "dan"] {
            var change = ParticipantChange()
            change.role = .presenter
            try room.change(id, change)
        }
        #expect(refusal(.choose(0), by: "ann") == "forbidden")
    }

    @Test("who is left without a moderator may go back to the room, and nowhere else")
    mutating func noModerator() throws {
        var room = Room(id: "r", settings: RoomSettings(), createdAt: Date(timeIntervalSince1970: 0), at: .zero)
        for (id, role) in [("host", Role.moderator), ("ann", .participant)] {
            var request = AdmittedJoin(room: "r", name: id)
            (request.role, request.roleIsProven, request.isNative) = (role, true, true)
            _ = try room.join(request, id: id, secret: "s", at: now)
        }
        self.room = room
        try make()
        try ask(.assign(["ann": 1]))
        try ask(.open(endsIn: nil))
        self.room.leave("host", at: now)
        #expect(notice("ann")?.mayMove == true && refusal(.choose(2), by: "ann") == "forbidden")
        try ask(.choose(0), by: "ann")
        #expect(self.room.place(of: "ann") == .main)
    }

    // MARK: - Time

    @Test("a countdown of a minute comes before the end, which brings everybody back")
    mutating func end() throws {
        try openTwo(endsIn: .seconds(300))
        let start = now
        #expect(room.breakout?.nextDeadline == start + .seconds(240))
        room.advanceBreakout(to: start + .seconds(239))
        #expect(room.breakout?.phase == .open)
        room.advanceBreakout(to: start + .seconds(240))
        #expect(room.breakout?.phase == .ending && room.breakout?.nextDeadline == start + .seconds(300))
        now = start + .seconds(270)
        #expect(room.breakoutInfo(at: now)?.endsIn == .seconds(30))
        // A later end takes the countdown back.
        try ask(.setEnd(in: .seconds(600)))
        #expect(room.breakout?.phase == .open)
        room.advanceBreakout(to: start + .seconds(300))
        #expect(places == [0, 1, 1, 2, 0])
        try ask(.callBack(.seconds(20)))
        #expect(room.breakout?.phase == .ending)
        room.advanceBreakout(to: now + .seconds(20))
        #expect(room.breakout == nil && places == [0, 0, 0, 0, 0])
        room.advanceBreakout(to: now + .seconds(1000))
    }

    @Test("a call back never puts the end off, and one of no seconds is at once")
    mutating func callBack() throws {
        try openTwo(endsIn: .seconds(70))
        let end = now + .seconds(70)
        try ask(.callBack(.seconds(600)))
        #expect(room.breakout?.endsAt == end)
        try ask(.callBack(.zero))
        #expect(room.breakout == nil)
    }

    // MARK: - Hosts

    @Test("a host hears into groups, looks into one and speaks to all, while it is one and the groups are open")
    mutating func hosts() throws {
        try make()
        try ask(.listen([2, 1], look: 2))
        try ask(.speakToAll(true))
        #expect(scene.people[0].alsoHears.isEmpty && !scene.people[0].isHeardEverywhere)
        try ask(.assign(["ann": 1, "cem": 2]))
        try ask(.open(endsIn: nil))
        #expect(scene.people[0].alsoHears == [GroupID(1), GroupID(2)] && scene.people[0].isHeardEverywhere)
        #expect(scene.people[0].group == .main && room.views["host"] == ViewID("main", group: GroupID(2)))
        #expect(
            refusal(.listen([1], look: nil), by: "ann") == "forbidden"
                && refusal(.speakToAll(true), by: "ann") == "forbidden")
        #expect(refusal(.listen([3], look: nil)) == "badRequest" && refusal(.listen([], look: 9)) == "badRequest")
        // Those of a group are told who hears them, and not who hears others.
        #expect(notice("ann")?.info?.groups.map(\.listeners) == [["host"], []])
        #expect(notice("host")?.info?.groups.map(\.listeners) == [["host"], ["host"]])
        #expect(notice("ann")?.info?.speakers == ["host"] && notice("host")?.listensTo == [1, 2])
        try ask(.listen([1], look: nil))
        #expect(scene.people[0].alsoHears == [GroupID(1)] && room.views["host"] == .main)
        // Who is no moderator any more hears and reaches its own group.
        _ = try room.moderate(.changeRole("ann", .moderator), by: "host")
        _ = try room.moderate(.changeRole("host", .participant), by: "ann")
        #expect(scene.people[0].alsoHears.isEmpty && !scene.people[0].isHeardEverywhere)
        #expect(notice("bob")?.info?.speakers == [])
    }

    // MARK: - Limits

    @Test("only moderators change groups, and what makes no sense is refused and changes nothing")
    mutating func refusals() throws {
        #expect(
            refusal(.fill) == "conflict" && refusal(.open(endsIn: nil)) == "conflict" && refusal(.close) == "conflict")
        for count in [0, 51, 5000] {
            #expect(refusal(.make(BreakoutPlan(names: Array(repeating: "G", count: count)))) == "badRequest")
        }
        #expect(refusal(.make(BreakoutPlan(names: ["a", " "]))) == "badRequest")
        #expect(refusal(.make(BreakoutPlan(names: ["a", String(repeating: "x", count: 100_000)]))) == "badRequest")
        try make()
        for request in [
            BreakoutRequest.make(BreakoutPlan(names: ["x"])), .rename(1, "x"), .assign(["ann": 1]), .fill,
            .open(endsIn: nil), .close,
        ] {
            #expect(refusal(request, by: "ann") == "forbidden")
        }
        #expect(refusal(.assign(["ann": 3])) == "badRequest" && refusal(.assign(["ann": -1])) == "badRequest")
        #expect(refusal(.assign(["ann": 1, "nobody": 1])) == "participantNotFound")
        try? ask(.assign(["ann": 1, "nobody": 1]))
        #expect(room.breakout?.assigned == [:], "a request is done as a whole or not at all")
        #expect(refusal(.rename(0, "x")) == "badRequest" && refusal(.rename(1, "\u{7}")) == "badRequest")
        #expect(refusal(.callBack(.seconds(5))) == "conflict" && refusal(.setEnd(in: .seconds(50))) == "conflict")
        for length in [-1, 0, 9, 86_401] { #expect(refusal(.open(endsIn: .seconds(length))) == "badRequest") }
        #expect(room.breakout?.isOpen == false)
        try ask(.open(endsIn: nil))
        #expect(refusal(.open(endsIn: nil)) == "conflict" && refusal(.make(BreakoutPlan(names: ["x"]))) == "conflict")
        for countdown in [-1, 601] { #expect(refusal(.callBack(.seconds(countdown))) == "badRequest") }
        // An administrator has no seat.
        #expect(
            refusal(.listen([1], look: nil), by: nil) == "badRequest" && refusal(.choose(1), by: nil) == "badRequest")
    }

    @Test("each group may have as many pictures as a room, and who is one too many gets the usual one")
    mutating func pictures() throws {
        for (id, layout) in [("ann", "speaker"), ("bob", "single"), ("cem", "speaker")] {
            try room.choose(ViewChoice(layout: layout, pins: []), by: id, limit: 2)
        }
        try make()
        try ask(.assign(["ann": 1, "bob": 1, "cem": 2]))
        try ask(.open(endsIn: nil), limit: 1)
        let own = room.views.values.filter { $0.choice != nil }
        #expect(own.count == 2 && Set(own.map(\.group)).count == 2)
        var other = room
        #expect(throws: ConferenceError.self) {
            try other.choose(ViewChoice(layout: "stage", pins: []), by: "ann", limit: 1)
        }
    }

    // MARK: - Moves of the room

    @Test("the groups go along with a room that moves, and their time goes on")
    mutating func moves() throws {
        try openTwo(endsIn: .seconds(100))
        try ask(.listen([1], look: 2))
        try ask(.speakToAll(true))
        let groups = try #require(room.breakout)
        let state = RoomState.Groups(groups, at: now + .seconds(10))
        let later = Instant.zero + .seconds(7)
        let there = try #require(Breakout(state, age: .seconds(5), at: later))
        #expect(there.assigned == groups.assigned && there.groups == groups.groups && there.hosts == groups.hosts)
        #expect(there.phase == .open && there.endsAt == later + .seconds(85))
        // What is broken is left out.
        var broken = state
        broken.places["ann"] = 77
        broken.hosts["host"]?.listensTo = [99]
        broken.endsIn = .nan
        let rest = try #require(Breakout(broken, age: .zero, at: later))
        #expect(rest.assigned["ann"] == nil && rest.assigned["bob"] == GroupID(1) && rest.host("host").listensTo == [])
        broken.names = []
        #expect(Breakout(broken, age: .zero, at: later) == nil)
    }

    // MARK: - Any order of requests

    @Test("whatever is asked in whatever order, everybody is in a group that there is", arguments: seeds(1...200))
    mutating func anyOrder(seed: UInt64) throws {
        random = Seeded(state: seed)
        let people = ["host", "ann", "bob", "cem", "dan", "nobody"]
        for _ in 0..<60 {
            now += .seconds(Int.random(in: 0...20, using: &random))
            room.advanceBreakout(to: now, limit: 2)
            let person = people.randomElement(using: &random) ?? "host"
            let group = Int.random(in: -1...4, using: &random)
            let requests: [BreakoutRequest] = [
                .make(BreakoutPlan(names: Array(repeating: "G", count: Int.random(in: 0...4, using: &random)))),
                .assign([person: group]), .assign([person: group]), .choose(group), .choose(group), .fill,
                .open(endsIn: nil),
                .open(endsIn: .seconds(30)), .setEnd(in: .seconds(90)), .allowChoice(Bool.random(using: &random)),
                .callBack(.seconds(10)), .close, .listen([group], look: group), .speakToAll(true), .rename(group, "N"),
            ]
            guard let request = requests.randomElement(using: &random) else { continue }
            let before = room
            do throws(ConferenceError) {
                try ask(request, by: Bool.random(using: &random) ? "host" : person, limit: 2)
            } catch {
                room = before
            }
            if Int.random(in: 0..<20, using: &random) == 0, room.member("dan") != nil { room.leave("dan", at: now) }
            let known = Set((room.breakout?.groups ?? []).map(\.id)).union([.main])
            for member in room.members {
                #expect(known.contains(room.place(of: member)) && known.contains(room.watched(by: member)))
            }
            if room.breakout?.isOpen != true { #expect(room.members.allSatisfy { room.place(of: $0) == .main }) }
            let shown = Set(room.views.values.map(\.group))
            #expect(shown.isSubset(of: known) && Set(room.speech.keys).isSubset(of: known))
            if let due = room.breakout?.nextDeadline, room.breakout?.isOpen == true {
                #expect(due > now - .seconds(60))
            }
        }
    }
}
