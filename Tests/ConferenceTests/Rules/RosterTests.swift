import Basics
import Foundation
import Testing

@testable import Conference

@Suite("Roster")
struct RosterTests {
    private func person(_ id: String, _ role: Role = .participant, hand: Bool = false) -> ParticipantInfo {
        ParticipantInfo(
            id: id, name: id, role: role, audio: true, video: true, hand: hand, speaking: false, presenting: false,
            audioMuted: false,
            videoMuted: false, pinned: false, volume: 1)
    }
    private func at(milliseconds: Int) -> Instant { .zero + .milliseconds(milliseconds) }

    @Test("changes have joined, changed and left participants; viewers are a number until they raise a hand")
    func changes() {
        var roster = Roster([person("a"), person("b"), person("v", .viewer)])
        #expect(roster.listed.map(\.id) == ["a", "b"] && roster.viewers == 1)
        let change = roster.change(to: [
            person("b", .presenter), person("v", .viewer, hand: true), person("w", .viewer), person("c"),
        ])
        #expect(
            change.joined.map(\.id) == ["v", "c"] && change.changed == [person("b", .presenter)] && change.left == ["a"]
        )
        #expect(change.viewers == 1)
        roster.apply(change)
        #expect(roster.listed.map(\.id) == ["b", "v", "c"])
        let nothing = roster.change(to: [
            person("b", .presenter), person("v", .viewer, hand: true), person("w", .viewer), person("c"),
        ])
        #expect(nothing.joined.isEmpty && nothing.changed.isEmpty && nothing.left.isEmpty && nothing.viewers == 1)
    }

    @Test("a change in a quiet room is announced at once, later ones together a quarter of a second later")
    func announcements() {
        var announcer = RosterAnnouncer()
        var people = [person("a")]
        guard case .announce(let first) = announcer.changed({ people }, at: at(milliseconds: 0)) else {
            Issue.record("not told"); return
        }
        #expect(first.number == 1 && first.everyone == people && first.change.joined == people)
        people.append(person("b"))
        #expect(announcer.changed({ people }, at: at(milliseconds: 10)) == .wait(until: at(milliseconds: 250)))
        people.append(person("c"))
        #expect(announcer.changed({ people }, at: at(milliseconds: 20)) == .nothing, "somebody asks already")
        #expect(announcer.announcement(of: { people }, at: at(milliseconds: 249)) == nil)
        let second = announcer.announcement(of: { people }, at: at(milliseconds: 250))
        #expect(second?.number == 2 && second?.change.joined.map(\.id) == ["b", "c"])
        #expect(announcer.announcement(of: { people }, at: at(milliseconds: 600)) == nil, "nobody was to ask")
        #expect(announcer.changed({ people }, at: at(milliseconds: 700)) == .nothing, "all is as it was told")
    }

    @Test("thousands of changes a second cost four announcements a second, or none")
    func hostile() {
        var announcer = RosterAnnouncer()
        var people = [person("a"), person("b")]
        var (told, due): ([Instant], Instant?) = ([], nil)
        for step in 0..<10_000 {
            let now = Instant(nanoseconds: Int64(step) * 1_000_000)
            if let time = due, time <= now {
                due = nil
                if announcer.announcement(of: { people }, at: now) != nil { told.append(now) }
            }
            people[0].hand.toggle()
            people[0].name = "\(step)"
            switch announcer.changed({ people }, at: now) {
            case .announce: told.append(now)
            case .wait(let until): due = until
            case .nothing: break
            }
        }
        #expect(told.count == 40, "ten seconds")
        for (before, after) in zip(told, told.dropFirst()) { #expect(after - before >= RosterAnnouncer.interval) }
        // A change that is undone before the next announcement is not announced.
        let end = at(milliseconds: 20_000)
        _ = announcer.announcement(of: { people }, at: end)
        people[0].hand.toggle()
        guard case .announce = announcer.changed({ people }, at: end + .seconds(1)) else {
            Issue.record("not told"); return
        }
        for step in 1...10 {
            people[0].hand.toggle()
            _ = announcer.changed({ people }, at: end + .seconds(1) + .milliseconds(step))
        }
        #expect(announcer.announcement(of: { people }, at: end + .seconds(2)) == nil)
    }

    @Test("changed members are found in one pass")
    func changedMembers() throws {
        var room = Room(id: "r", settings: RoomSettings(), createdAt: Date(), at: .zero)
        for id in ["a", "b", "c", "d"] {
            _ = try room.join(AdmittedJoin(room: "r", name: id), id: id, secret: "s", at: .zero)
        }
        let old = room
        room.leave("a", at: .zero)
        try room.setState("c", audio: false, video: nil, hand: nil)
        _ = try room.join(AdmittedJoin(room: "r", name: "e"), id: "e", secret: "s", at: .zero)
        let changed = room.changedMembers(since: old)
        #expect(changed.map(\.now.id) == ["c"] && changed.map(\.before.audioOn) == [true])
        #expect(old.changedMembers(since: old).isEmpty)
    }
}

@Suite("SharedEvent")
struct SharedEventTests {
    @Test("a form is made once")
    func forms() {
        let event = SharedEvent(.speaker("a"))
        var made = 0
        for _ in 0..<3 {
            let text = event.form("text") {
                made += 1
                return "text"
            }
            #expect(text == "text")
        }
        #expect(event.form("number") { 7 } == 7 && made == 1)
        #expect(event == SharedEvent(.speaker("a")) && event != SharedEvent(.speaker("b")))
    }
}
