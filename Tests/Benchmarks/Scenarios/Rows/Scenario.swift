import Basics
import Simulation

/// A line, what happens to it, and what a call over it must be like.
public struct Scenario: Sendable {
    /// One moment at which the line of the first member changes.
    struct Change: Sendable {
        var after: Duration
        var up: LinkConditions
        var down: LinkConditions
    }

    public let name: String
    /// As the table says it.
    public let aim: String
    var links: [SimulatedRoom.Link]
    var changes: [Change] = []
    var duration: Duration
    /// Steady figures are taken from here on; what happens at a moment is judged by itself.
    var settled: Duration = .seconds(5)
    /// What a client's camera may send, what its tile is worth.
    var camera: BitRate = .kilobits(500)
    /// Whose figures are shown: the members in this range.
    var shown: Range<Int> = 0..<1
    var judge: @Sendable (ScenarioOutcome) -> [Check]

    /// Runs the call in virtual time; the seed decides every loss and every frame's size.
    public func run(seed: UInt64) throws -> ScenarioOutcome {
        let room = try SimulatedRoom(links: links, sendsPicture: camera, seed: seed)
        var passed = Duration.zero
        for change in changes {
            room.run(for: change.after - passed)
            passed = change.after
            room.members[0].call.up.change(to: change.up)
            room.members[0].call.down.change(to: change.down)
        }
        room.run(for: duration - passed)
        return ScenarioOutcome(scenario: self, room: room)
    }

    public func verdict(_ outcome: ScenarioOutcome) -> [Check] { judge(outcome) }
}

extension SimulatedRoom.Link {
    /// The same both ways.
    init(_ both: LinkConditions) { self.init(up: both, down: both) }
}
