import Basics
import RoomMedia

extension RoomState.Groups {
    init(_ groups: Breakout, at now: Instant) {
        self.init(
            isOpen: groups.isOpen, names: groups.groups.map(\.name), mayChoose: groups.mayChoose,
            places: groups.assigned.mapValues(\.number), endsIn: groups.endsAt.map { ($0 - now).inSeconds },
            isEnding: groups.phase == .ending,
            hosts: groups.hosts.mapValues { host in
                RoomState.Host(
                    listensTo: host.listensTo.map(\.number).sorted(), looksInto: host.looksInto?.number,
                    speaksToAll: host.speaksToAll)
            })
    }
}

extension Breakout {
    /// The groups of a room that comes from another server; nil where they cannot be used.
    ///
    /// - Parameter age: of the state.
    init?(_ state: RoomState.Groups, age: Duration, at now: Instant) {
        guard var groups = try? Breakout(BreakoutPlan(names: state.names, mayChoose: state.mayChoose)) else {
            return nil
        }
        for (id, number) in state.places { try? groups.assign(id, to: GroupID(number)) }
        if state.isOpen {
            let longest = BreakoutPlan.allowedLength.upperBound.inSeconds
            let seconds = state.endsIn.flatMap { $0.isFinite ? $0 : nil }
            let left = seconds.map { Duration.seconds(min(max($0, 0), longest)) - age }
            groups.resume(endsAt: left.map { now + $0 }, isEnding: state.isEnding)
        }
        for (id, host) in state.hosts {
            let heard = Set(host.listensTo.map { GroupID($0) })
            try? groups.listen(id, to: heard, lookingInto: host.looksInto.map { GroupID($0) })
            groups.speakToAll(id, host.speaksToAll)
        }
        self = groups
    }
}
