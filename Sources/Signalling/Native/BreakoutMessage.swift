import Admission
import Basics
import Conference
package import WebServer

/// The message `breakout` of a client.
struct BreakoutMessage: Decodable {
    enum Action: String, Decodable, CaseIterable {
        case make, rename, assign, fill, allowChoice, open, setEnd, callBack, close, listen, speakToAll, choose
    }

    private var action: Action
    /// Of `make`.
    private var names: [String]?
    private var mayChoose: Bool?
    /// A group's number; of `choose` also 0, the room itself.
    private var group: Int?
    private var name: String?
    /// The numbers of groups by the ids of participants.
    private var places: [String: Int]?
    /// In seconds.
    private var endsIn: Double?
    private var countdown: Double?
    private var groups: [Int]?
    private var look: Int?
    private var on: Bool?

    /// - Throws: `bad_message` for a member that the action needs and the message has not.
    func request() throws(Refusal) -> BreakoutRequest {
        switch action {
        case .make: return .make(BreakoutPlan(names: try needed(names, "names"), mayChoose: mayChoose ?? false))
        case .rename: return .rename(try needed(group, "group"), try needed(name, "name"))
        case .assign: return .assign(try needed(places, "places"))
        case .fill: return .fill
        case .allowChoice: return .allowChoice(try needed(mayChoose, "mayChoose"))
        case .open: return .open(endsIn: try duration(endsIn, "endsIn"))
        case .setEnd: return .setEnd(in: try duration(endsIn, "endsIn"))
        case .callBack: return .callBack(try duration(countdown, "countdown") ?? BreakoutPlan.countdown)
        case .close: return .close
        case .listen:
            let groups = try needed(groups, "groups")
            guard groups.count <= BreakoutPlan.allowedGroups.upperBound + 1 else {
                throw Refusal(.badMessage, "breakout: groups: at most \(BreakoutPlan.allowedGroups.upperBound + 1)")
            }
            return .listen(groups, look: look)
        case .speakToAll: return .speakToAll(try needed(on, "on"))
        case .choose: return .choose(try needed(group, "group"))
        }
    }

    private func needed<Value>(_ value: Value?, _ name: String) throws(Refusal) -> Value {
        guard let value else { throw Refusal(.badMessage, "breakout: \(action.rawValue) needs \(name)") }
        return value
    }

    private func duration(_ seconds: Double?, _ name: String) throws(Refusal) -> Duration? {
        guard let seconds else { return nil }
        guard let duration = BreakoutPlan.duration(seconds) else {
            throw Refusal(.badMessage, "breakout: \(name): a number of seconds")
        }
        return duration
    }
}

extension BreakoutNotice {
    /// A `breakout` message, by itself and in `joined.breakout`.
    package var message: JSONValue {
        guard let info else { return ["type": "breakout", "state": "none"] }
        return .object(
            [
                "type": "breakout", "state": .string(info.phase.rawValue), "mayChoose": .bool(info.mayChoose),
                "mayMove": .bool(mayMove), "own": .integer(own),
                "groups": .array(info.groups.map { $0.json(withPeople: isHost || info.mayChoose) }),
                "speakers": .array(info.speakers.map { .string($0) }),
            ],
            where: [
                "endsIn": info.endsIn.map { .integer(Int($0.inSeconds.rounded())) },
                "listensTo": isHost ? .array(listensTo.map { .integer($0) }) : nil,
                "looksInto": looksInto.map { .integer($0) }, "speaksToAll": isHost ? .bool(speaksToAll) : nil,
            ])
    }
}
