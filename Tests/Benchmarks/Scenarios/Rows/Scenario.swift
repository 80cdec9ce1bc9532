import Basics
import Simulation

/// A link, its changes, and the aims for a call over it.
public struct Scenario: Sendable {
    /// A change of the first member's link.
    struct Change: Sendable {
        var after: Duration
        var up: LinkConditions
        var down: LinkConditions
    }

    /// A member that joins later.
    struct Join: Sendable {
        var after: Duration
        var link: SimulatedRoom.Link
    }

    public let name: String
    /// The text in the table.
    public let aim: String
    var links: [SimulatedRoom.Link]
    var changes: [Change] = []
    var joins: [Join] = []
    var duration: Duration
    /// The time from which steady values are measured; changes of the link are judged separately.
    var settled: Duration = .seconds(5)
    /// The highest bit rate of a client's camera, which is that of its tile.
    var camera: BitRate = .kilobits(500)
    /// The members whose values are shown.
    var shown: Range<Int> = 0..<1
    var judge: @Sendable (ScenarioOutcome) -> [Check]

    /// Runs the call in virtual time; the seed decides every loss and every frame's size.
    public func run(seed: UInt64) throws -> ScenarioOutcome {
        let room = try SimulatedRoom(links: links, sendsPicture: camera, seed: seed)
        for time in Set(changes.map(\.after) + joins.map(\.after)).sorted() {
            room.run(for: room.start + time - room.now)
            for change in changes where change.after == time {
                room.members[0].call.up.change(to: change.up)
                room.members[0].call.down.change(to: change.down)
            }
            for join in joins where join.after == time { try room.addMember(on: join.link) }
        }
        room.run(for: room.start + duration - room.now)
        return ScenarioOutcome(scenario: self, room: room)
    }

    public func verdict(_ outcome: ScenarioOutcome) -> [Check] { judge(outcome) }
}

extension SimulatedRoom.Link {
    /// The same conditions in both directions.
    init(_ both: LinkConditions) { self.init(up: both, down: both) }
}
