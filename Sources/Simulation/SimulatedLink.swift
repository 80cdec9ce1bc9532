public import Basics

/// One direction of a link in virtual time; its behaviour follows from its seed.
public struct SimulatedLink<Payload> {
    /// IPv4 and UDP headers, which the link carries too.
    public static var overhead: Int { 28 }

    private struct Delivery {
        var at: Instant
        var order: UInt64
        var payload: Payload
    }

    public private(set) var conditions: LinkConditions
    /// Future changes, in order.
    private var schedule: [(at: Instant, conditions: LinkConditions)]
    private var random: SeededRandom
    private var lossState = LossState()
    private var busyUntil: Instant = .distantPast
    private var lastArrival: Instant = .distantPast
    private var order: UInt64 = 0
    /// Sorted, the next one last.
    private var deliveries: [Delivery] = []
    public private(set) var sent = 0
    public private(set) var lost = 0
    public private(set) var deliveredBytes = 0

    public init(_ conditions: LinkConditions, seed: UInt64, schedule: [(at: Instant, conditions: LinkConditions)] = [])
    {
        self.conditions = conditions
        self.schedule = schedule.sorted { $0.at < $1.at }
        random = SeededRandom(seed: seed)
    }

    /// Changes the conditions of the link from now on.
    public mutating func change(to conditions: LinkConditions) {
        self.conditions = conditions
    }

    /// - Parameter size: the datagram's payload in bytes.
    public mutating func send(_ payload: Payload, size: Int, at now: Instant) {
        while let next = schedule.first, next.at <= now {
            conditions = next.conditions
            schedule.removeFirst()
        }
        sent += 1
        if lossState.loses(conditions.loss, using: &random) {
            lost += 1
            return
        }
        transmit(payload, size: size, at: now)
        if random.chance(conditions.duplication) { transmit(payload, size: size, at: now) }
    }

    /// How long a packet that is sent now waits before it leaves.
    public func queueDelay(at now: Instant) -> Duration { max(.zero, busyUntil - now) }

    public var nextDelivery: Instant? { deliveries.last?.at }

    /// The next packet that has arrived by `now`.
    public mutating func receive(at now: Instant) -> Payload? {
        guard let next = deliveries.last, next.at <= now else { return nil }
        deliveries.removeLast()
        return next.payload
    }

    private mutating func transmit(_ payload: Payload, size: Int, at now: Instant) {
        var departure = now
        if let rate = conditions.rate {
            let start = max(now, busyUntil)
            guard start - now <= conditions.queue else {
                lost += 1
                return
            }
            departure = start + rate.time(for: size + Self.overhead)
            busyUntil = departure
        }
        deliveredBytes += size + Self.overhead
        var arrival = departure + conditions.delay
        if conditions.jitter > .zero {
            arrival += .nanoseconds(Int64.random(in: 0...conditions.jitter.nanoseconds, using: &random))
        }
        if random.chance(conditions.reordering) {
            arrival += conditions.reorderingDelay
        } else {
            arrival = max(arrival, lastArrival)
            lastArrival = arrival
        }
        order += 1
        let delivery = Delivery(at: arrival, order: order, payload: payload)
        var index = deliveries.count
        while index > 0,
            (deliveries[index - 1].at.nanoseconds, deliveries[index - 1].order) < (arrival.nanoseconds, order)
        { index -= 1 }
        deliveries.insert(delivery, at: index)
    }
}
