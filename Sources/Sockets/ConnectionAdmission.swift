import Basics

/// Decides which TCP connections from outside are accepted and which are closed. A value; time is an argument.
///
/// A connection is unclaimed until its peer passes the first authenticated check. Unclaimed connections (strangers) are
/// closed after a few seconds, and are the first to be closed where a place is needed, so that a client that opens
/// thousands of connections cannot keep out a peer.
struct ConnectionAdmission {
    /// The decision about one more connection.
    enum Decision: Equatable {
        case accept
        /// The connection is accepted if this stranger is closed.
        case replace(UInt32)
        case refused(AddressTally.Refusal)
    }

    private struct Stranger {
        var number: UInt32
        var deadline: Instant
    }

    private let claimTime: Duration
    private var tally: AddressTally
    private var addresses: [UInt32: IPAddress] = [:]
    /// Oldest first; closed and claimed connections stay in the list until they reach its head.
    private var queue: [Stranger] = []
    private var head = 0
    private var strangers: Set<UInt32> = []

    /// - Parameters:
    ///   - limit: connections of all addresses together.
    ///   - perAddress: connections of one client address.
    ///   - claimTime: how long a connection may stay unclaimed.
    init(limit: Int, perAddress: Int, claimTime: Duration) {
        tally = AddressTally(limit: limit, perAddress: perAddress)
        self.claimTime = claimTime
    }

    var count: Int { addresses.count }
    var strangerCount: Int { strangers.count }

    /// Decides about one more connection from `address`. For an accepted connection the caller calls `add`.
    func decision(for address: IPAddress) -> Decision {
        if tally.count(of: address) >= tally.limitPerAddress {
            let prefix = address.clientPrefix
            return oldest { $0.clientPrefix == prefix }.map { .replace($0) } ?? .refused(.address)
        }
        guard tally.count >= tally.limit else { return .accept }
        return oldestStranger().map { .replace($0) } ?? .refused(.total)
    }

    /// The oldest stranger, to be closed where a resource that all share is exhausted.
    func oldestStranger() -> UInt32? { oldest { _ in true } }

    mutating func add(_ number: UInt32, from address: IPAddress, at now: Instant) {
        _ = tally.add(address)
        addresses[number] = address
        strangers.insert(number)
        queue.append(Stranger(number: number, deadline: now + claimTime))
    }

    /// Notes that a peer has proved that the connection is its own.
    mutating func claim(_ number: UInt32) { strangers.remove(number) }

    mutating func remove(_ number: UInt32) {
        guard let address = addresses.removeValue(forKey: number) else { return }
        strangers.remove(number)
        tally.remove(address)
    }

    /// The next stranger whose time is over; the caller must `remove` each.
    mutating func nextExpired(at now: Instant) -> UInt32? {
        dropStaleEntries()
        guard head < queue.count, queue[head].deadline <= now else { return nil }
        return queue[head].number
    }

    /// When the next stranger's time is over.
    mutating func nextDeadline() -> Instant? {
        dropStaleEntries()
        return head < queue.count ? queue[head].deadline : nil
    }

    private func oldest(_ fits: (IPAddress) -> Bool) -> UInt32? {
        for stranger in queue[head...] where strangers.contains(stranger.number) {
            if let address = addresses[stranger.number], fits(address) { return stranger.number }
        }
        return nil
    }

    private mutating func dropStaleEntries() {
        while head < queue.count, !strangers.contains(queue[head].number) { head += 1 }
        if head > 64, head * 2 > queue.count {
            queue.removeFirst(head)
            head = 0
        }
    }
}
