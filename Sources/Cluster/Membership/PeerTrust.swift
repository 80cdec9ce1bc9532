/// Whether the other nodes take this one's token. A node that none of them believes cannot pass its clients on: it must
/// get none.
struct PeerTrust: Hashable, Sendable {
    /// What one node answered.
    struct Answer: Hashable, Sendable {
        var answer: PeerAnswer
        /// Whether it registered before this node.
        var isOlder: Bool
    }

    /// Why nobody takes the token.
    private(set) var fault: String?

    /// Takes the answers of one round. Of two nodes that do not understand each other the younger one is at fault.
    mutating func take(_ answers: [Answer]) {
        var faults: [String] = []
        var isRejectedByOlder = false
        for answer in answers {
            switch answer.answer {
            case .alive:
                fault = nil
                return
            case .rejected(let why):
                faults.append(why)
                if answer.isOlder { isRejectedByOlder = true }
            case .refused, .silent: break
            }
        }
        if faults.count > 1 || isRejectedByOlder { fault = faults.first } else if answers.isEmpty { fault = nil }
    }
}
