import Basics
package import Conference
import FoundationEssentials
package import WebServer

extension BreakoutPlan {
    /// A time of a request; nil for a number of seconds that none can have.
    package static func duration(_ seconds: Double) -> Duration? {
        (0...1_000_000).contains(seconds) ? .seconds(seconds) : nil
    }
}

extension BreakoutInfo {
    /// `Breakout` of the API's description.
    package var json: JSONValue {
        .object(
            [
                "state": .string(phase.rawValue), "mayChoose": .bool(mayChoose),
                "groups": .array(groups.map { $0.json(withPeople: true) }),
                "speakers": .array(speakers.map { .string($0) }),
            ], where: ["endsIn": endsIn.map { .integer(Int($0.inSeconds.rounded())) }])
    }
}

extension BreakoutInfo.Group {
    /// - Parameter withPeople: whether the receiver may know who is in it.
    package func json(withPeople: Bool) -> JSONValue {
        .object(
            [
                "id": .integer(number), "name": .string(name), "people": .integer(participants.count),
                "listeners": .array(listeners.map { .string($0) }),
            ],
            where: [
                "participants": withPeople ? .array(participants.map { .string($0) }) : nil,
                "recording": recording.map { .string($0) },
            ])
    }
}
