import Basics
import EndpointTestSupport
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Admission
@testable import Conference
@testable import Signalling
@testable import WebServer

/// The participants of random rooms with a seed, from the members to the clients' lists: through the announcer, the
/// sessions, and outboxes that are read slowly or not at all.
@Suite struct RosterDeliveryTests {
    /// A deterministic generator (Marsaglia's xorshift).
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    /// A client like the page: it keeps a list and applies the messages to it.
    private struct Client {
        var session: SignallingSession
        var outbox = Outbox()
        let wantsDeltas: Bool
        /// The list as JSON, in order.
        var list: [JSONValue] = []
        var viewers: JSONValue?
        var changes = 0

        init(wantsDeltas: Bool) {
            self.wantsDeltas = wantsDeltas
            session = SignallingSession(sdpLimit: 1000)
            _ = session.received(#"{"type":"join","room":"r","name":"A","deltas":\#(wantsDeltas)}"#)
        }

        mutating func perform(_ actions: [SignallingSession.Action]) {
            for case .send(let message) in actions {
                let isTaken = outbox.add(
                    .text(message.bytes), message.state,
                    fullState: message.fullState.map { full in { .text(full.bytes) } })
                #expect(isTaken)
            }
        }

        /// Reads the waiting messages.
        mutating func read() throws {
            while case .text(let text)? = outbox.next() {
                let message = try JSON.decode(JSONValue.self, from: text.readableBytesView)
                func list(_ key: String) -> [JSONValue] {
                    if case .array(let values)? = message[key] { values } else { [] }
                }
                switch message["type"] {
                case "joined", "participants": self.list = list("participants")
                case "participantsChanged":
                    changes += 1
                    let left = list("left")
                    self.list.removeAll { person in left.contains { $0 == person["id"] } }
                    for person in list("changed") {
                        let index = try #require(self.list.firstIndex { $0["id"] == person["id"] })
                        self.list[index] = person
                    }
                    self.list += list("joined")
                default: continue
                }
                viewers = message["viewers"]
            }
        }
    }

    /// The value after encoding and decoding.
    private func json(_ people: [ParticipantInfo]) throws -> [JSONValue] {
        try people.map { try JSON.decode(JSONValue.self, from: $0.json.bytes) }
    }

    @Test(arguments: seeds(1...12))
    func `lists and changes lead to the same result in any room`(seed: UInt64) throws {
        var random = Seeded(state: seed &* 0x9E37_79B9_7F4A_7C15)
        var room = Room(id: "r", settings: RoomSettings(), createdAt: Date(), at: .zero)
        room.settings.maxParticipants = 1000
        var announcer = RosterAnnouncer()
        var clients: [Client] = []
        var (now, due, joins): (Instant, Instant?, Int) = (.zero, nil, 0)
        func tell(_ update: RosterUpdate) {
            let told = SharedEvent(.participants(update))
            for index in clients.indices {
                // An announcement that an `EventMailbox` drops is a missing number.
                if Int.random(in: 0..<10, using: &random) == 0 { continue }
                clients[index].perform(clients[index].session.handleEvent(told))
            }
        }
        func follow(_ step: RosterAnnouncer.Step) {
            switch step {
            case .announce(let update): tell(update)
            case .wait(let until): due = until
            case .nothing: break
            }
        }
        for _ in 0..<200 {
            now += .milliseconds(Int.random(in: 0...120, using: &random))
            if let time = due, time <= now {
                due = nil
                if let update = announcer.announcement(of: { room.infos }, at: now) { tell(update) }
            }
            let members = room.members
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2:
                joins += 1
                let role: Role = Bool.random(using: &random) ? .viewer : .participant
                _ = try? room.join(
                    AdmittedJoin(room: "r", name: "P\(joins)", role: role), id: "p\(joins)", secret: "s", at: now)
                if clients.count < 12 {
                    var client = Client(wantsDeltas: joins % 4 != 0)
                    client.perform(
                        client.session.seated(
                            Welcome(
                                room: "r", id: "p\(joins)", name: "P", role: role, resumeSecret: "s",
                                participants: room.infos, shown: ShownLayout(name: "grid"),
                                recording: nil), iceServers: []))
                    clients.append(client)
                }
            case 3: if let gone = members.randomElement(using: &random) { room.leave(gone.id, at: now) }
            case 4:
                if let person = members.randomElement(using: &random) {
                    var change = ParticipantChange()
                    change.role = Role.allCases.randomElement(using: &random)
                    change.name = "N\(joins)"
                    try room.change(person.id, change)
                }
            case 5...7:
                if let person = members.randomElement(using: &random) {
                    try room.setState(
                        person.id, audio: .random(using: &random), video: nil, hand: .random(using: &random))
                }
            default: break
            }
            // Some clients read often, some seldom.
            for index in clients.indices where Int.random(in: 0..<3 + index, using: &random) == 0 {
                try clients[index].read()
            }
            if members != room.members { follow(announcer.changed({ room.infos }, at: now)) }
        }
        // One more change, announced to all clients.
        now += .seconds(1)
        if let update = announcer.announcement(of: { room.infos }, at: now) { tell(update) }
        _ = try room.join(AdmittedJoin(room: "r", name: "Last"), id: "last", secret: "s", at: now + .seconds(1))
        guard case .announce(let last) = announcer.changed({ room.infos }, at: now + .seconds(1)) else {
            Issue.record("nothing to announce")
            return
        }
        #expect(last.everyone == room.infos && Set(last.roster.listed) == Set(room.infos.filter(\.isListed)))
        let (everyone, listed) = (try json(last.everyone), try json(last.roster.listed))
        for index in clients.indices {
            clients[index].perform(clients[index].session.handleEvent(SharedEvent(.participants(last))))
            try clients[index].read()
            let client = clients[index]
            #expect(client.list == (client.wantsDeltas ? listed : everyone), "seed \(seed), client \(index)")
            #expect(client.viewers == (client.wantsDeltas ? .integer(last.roster.viewers) : nil))
        }
        #expect(clients.contains { $0.changes > 10 }, "changes were told")
    }
}
