package import Basics
package import Synchronization
package import Threads

/// The audio clock of some rooms: a thread of its own, with real-time priority where the system allows it, and a tick
/// every 20 ms. The thread never waits for video, a disk, or a lock that is held across an encode.
package final class AudioClock: Sendable {
    static let period = Duration.milliseconds(20)
    /// Up to this lateness missed ticks are caught up, so that no peer's jitter buffer runs empty; beyond it they are
    /// skipped.
    private static let catchUpLimit = Duration.milliseconds(200)

    /// The rooms of the thread, touched there only.
    package final class Rooms {
        fileprivate(set) var all: [String: AudioRoom] = [:]
        /// The time of the next tick.
        fileprivate var next: Instant
        fileprivate let silence = SilencePackets()

        /// The first tick is the first whole multiple of the period after `now`.
        package init(at now: Instant) { next = Instant(ticks: now.ticks(at: 50) + 1, at: 50) }

        func add(_ id: String, _ room: AudioRoom) {
            all[id] = room
            room.silence = silence
        }
        func remove(_ id: String) { all[id] = nil }
    }

    private let inbox = Mailbox<Never, @Sendable (Rooms) -> Void>()
    private let name: String
    private let meter: StageMeter
    private let people = Atomic<Int>(0)
    private let rooms = Atomic<Int>(0)
    private let deliver: @Sendable ([AudioDelivery]) -> Void
    package let lateness = Atomic<Int64>(0)
    package let skipped = Atomic<Int>(0)

    /// - Parameters:
    ///   - name: of the thread.
    ///   - deliver: takes the packets of a tick, on the thread.
    package init(name: String, meter: StageMeter, deliver: @escaping @Sendable ([AudioDelivery]) -> Void) {
        self.name = name
        self.meter = meter
        self.deliver = deliver
    }

    /// Runs `work` on the thread before the next tick.
    package func execute(_ work: @escaping @Sendable (Rooms) -> Void) { inbox.post(work) }

    /// The thread's load, by which a new room chooses its thread: participants, and a little for a room that has none
    /// yet.
    package var load: Int { people.load(ordering: .relaxed) * 4 + rooms.load(ordering: .relaxed) }

    /// Adds to the counts of this thread's rooms and of the participants in them.
    func count(rooms: Int = 0, people: Int = 0) {
        self.rooms.wrappingAdd(rooms, ordering: .relaxed)
        self.people.wrappingAdd(people, ordering: .relaxed)
    }

    package var backlog: BacklogStatistics { inbox.backlog }
    package func stop() { inbox.stop() }

    package func start() {
        // Above every thread of normal priority, below the kernel's own.
        DedicatedThread.start(name, realtimePriority: 10) { [self] in
            let rooms = Rooms(at: MonotonicClock.now())
            while let wake = run(rooms, at: MonotonicClock.now()) { MonotonicClock.sleep(until: wake) }
        }
    }

    /// Runs the waiting work and then the tick, where one is due, and returns the next wake-up; nil after `stop`.
    package func run(_ rooms: Rooms, at now: Instant) -> Instant? {
        guard now >= rooms.next else { return rooms.next }
        let batch = inbox.take()
        if batch.isLast { return nil }
        for work in batch.messages { work(rooms) }
        let late = now - rooms.next
        lateness.store(late.nanoseconds, ordering: .relaxed)
        mix(rooms, at: rooms.next)
        if late > Self.catchUpLimit {
            let missed = late.nanoseconds / Self.period.nanoseconds
            skipped.wrappingAdd(Int(missed), ordering: .relaxed)
            rooms.next += .nanoseconds(missed * Self.period.nanoseconds)
        }
        rooms.next += Self.period
        return rooms.next
    }

    private func mix(_ rooms: Rooms, at tick: Instant) {
        var deliveries: [AudioDelivery] = []
        meter.measure {
            for room in rooms.all.values { room.tick(tick, into: &deliveries) }
            rooms.silence.grow()
        }
        if !deliveries.isEmpty { deliver(deliveries) }
    }
}
