import Basics

/// Which TCP connections from outside are let in, and which have to go. A value; time is an argument.
///
/// A connection is a stranger's until a peer claims it: the first authentic check does. Strangers get a few seconds,
/// and are the first to go where a place is needed, so that whoever opens connections by the thousand keeps nobody out
/// who has something to say.
struct ConnectionAdmission {
    /// What one more connection gets.
    enum Answer: Equatable {
        case welcome
        /// The same, if this stranger goes.
        case insteadOf(UInt32)
        case refused(AddressTally.Refusal)
    }

    private struct Stranger {
        var number: UInt32
        var deadline: Instant
    }

    private let patience: Duration
    private var tally: AddressTally
    private var addresses: [UInt32: IPAddress] = [:]
    /// Oldest first; those that are gone or claimed stay in the list until they come to its head.
    private var line: [Stranger] = []
    private var head = 0
    private var strangers: Set<UInt32> = []

    /// - Parameters:
    ///   - limit: connections in all.
    ///   - perAddress: of one client address.
    ///   - patience: how long a connection may stay unclaimed.
    init(limit: Int, perAddress: Int, patience: Duration) {
        tally = AddressTally(limit: limit, perAddress: perAddress)
        self.patience = patience
    }

    var count: Int { addresses.count }
    var strangerCount: Int { strangers.count }

    /// Asks for one more connection from `address`; follow a yes with `enter`.
    func answer(_ address: IPAddress) -> Answer {
        if tally.count(of: address) >= tally.limitPerAddress {
            let prefix = address.clientPrefix
            return oldest { $0.clientPrefix == prefix }.map { .insteadOf($0) } ?? .refused(.address)
        }
        guard tally.count >= tally.limit else { return .welcome }
        return oldestStranger().map { .insteadOf($0) } ?? .refused(.total)
    }

    /// The oldest stranger, to go for lack of something that all share.
    func oldestStranger() -> UInt32? { oldest { _ in true } }

    mutating func enter(_ number: UInt32, from address: IPAddress, at now: Instant) {
        _ = tally.add(address)
        addresses[number] = address
        strangers.insert(number)
        line.append(Stranger(number: number, deadline: now + patience))
    }

    /// A peer has shown that the connection is its own.
    mutating func claim(_ number: UInt32) { strangers.remove(number) }

    mutating func leave(_ number: UInt32) {
        guard let address = addresses.removeValue(forKey: number) else { return }
        strangers.remove(number)
        tally.remove(address)
    }

    /// The next stranger whose time is over; each must `leave`.
    mutating func nextExpired(at now: Instant) -> UInt32? {
        tidy()
        guard head < line.count, line[head].deadline <= now else { return nil }
        return line[head].number
    }

    /// When the next stranger's time is over.
    mutating func nextDeadline() -> Instant? {
        tidy()
        return head < line.count ? line[head].deadline : nil
    }

    private func oldest(_ fits: (IPAddress) -> Bool) -> UInt32? {
        for stranger in line[head...] where strangers.contains(stranger.number) {
            if let address = addresses[stranger.number], fits(address) { return stranger.number }
        }
        return nil
    }

    private mutating func tidy() {
        while head < line.count, !strangers.contains(line[head].number) { head += 1 }
        if head > 64, head * 2 > line.count {
            line.removeFirst(head)
            head = 0
        }
    }
}
