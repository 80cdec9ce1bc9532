import Basics
import Logging

/// Whether the other nodes take this one's token.
extension ClusterNode {
    private static let trustPeriod = Duration.seconds(5)

    func watchTrust() async {
        while !Task.isCancelled {
            await checkTrust()
            // Soon where there was nobody to ask, or nobody took it.
            let isSettled = state.withLock { $0.trust.fault == nil && $0.copy.nodes.count > 1 }
            try? await Task.sleep(for: isSettled ? Self.trustPeriod : .seconds(1))
        }
    }

    private func checkTrust() async {
        let asked = state.withLock { state -> [(record: NodeRecord, isOlder: Bool)] in
            guard state.membership.standing(at: BootInstant.now()) == .sure else { return [] }
            let own = state.copy.nodes[state.copy.id]?.revision ?? 0
            let others = state.copy.nodes.values.filter { $0.record.id != state.copy.id }
            return others.shuffled(using: &state.random).prefix(3).map { ($0.record, $0.revision < own) }
        }
        let answers = await withTaskGroup(of: PeerTrust.Answer.self) { group in
            for (node, isOlder) in asked {
                group.addTask { [peers] in
                    PeerTrust.Answer(answer: await peers.ask(node, within: .seconds(1)), isOlder: isOlder)
                }
            }
            return await group.reduce(into: [PeerTrust.Answer]()) { $0.append($1) }
        }
        let (before, now) = state.withLock { state in
            let before = state.trust.fault
            state.trust.take(answers)
            return (before, state.trust.fault)
        }
        if let now, now != before {
            logger.error("no other node believes this one, which is not ready until one does: \(now)")
        } else if before != nil, now == nil {
            logger.notice("the other nodes believe this one again")
        }
    }
}
