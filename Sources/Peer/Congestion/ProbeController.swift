import Basics

/// A burst at a rate above the estimate, to see whether it gets through.
struct ProbeCluster: Sendable, Equatable {
    var id: Int
    var rate: BitRate
    /// Both must be reached.
    var packets: Int
    var bytes: Int
}

/// When to look for more: at the start, after success, while the application sends little, and after a large drop.
///
/// libwebrtc `probe_controller.cc`.
struct ProbeController: Sendable {
    /// One step at a time: libwebrtc's two bursts at three and six times the start would fill a thin line's queue for half a second.
    static let startFactors = [2.0]
    static let packets = 5
    static let duration: Duration = .milliseconds(15)
    /// A measured rate above this part of the probed one asks for the next step …
    static let success = 0.7
    /// … which is this much more.
    static let further = 2.0
    static let limitedInterval: Duration = .seconds(5)
    /// A fall below this part of the rate before is a large drop.
    static let largeDrop = 0.66
    static let afterDrop = 0.85
    /// How long after a drop the old rate is tried again, and how often.
    static let dropInterval: Duration = .seconds(3)
    static let dropAttempts = 10
    /// A cluster unanswered for this long failed.
    static let patience: Duration = .seconds(1)

    private var nextID = 1
    private var started = false
    private var waiting: (id: Int, rate: Double, since: Instant)?
    private var lastProbe: Instant = .distantPast
    private var drop: (rate: Double, next: Instant, left: Int)?
    /// Only the first burst of all has been asked for.
    var isFirst: Bool { nextID == 2 }
    private(set) var pending: [ProbeCluster] = []
    /// bit/s; never probed above.
    var ceiling: Double

    init(ceiling: Double) {
        self.ceiling = ceiling
    }

    mutating func start(rate: Double, at now: Instant) {
        guard !started else { return }
        started = true
        for factor in Self.startFactors { request(rate * factor, at: now) }
    }

    /// What a cluster measured, in bit/s.
    mutating func measured(_ rate: Double, at now: Instant) {
        guard let current = waiting else { return }
        if rate > Self.success * current.rate, current.rate < ceiling {
            waiting = nil
            request(rate * Self.further, at: now)
        }
    }

    /// The delay or loss took the estimate from `old` to `new`.
    mutating func dropped(from old: Double, to new: Double, at now: Instant) {
        pending.removeAll()
        waiting = nil
        guard new < Self.largeDrop * old else { return }
        drop = (max(old, drop?.rate ?? 0), now + Self.dropInterval, Self.dropAttempts)
    }

    /// - Parameter limitedSince: since when the application sends little.
    mutating func advance(estimate: Double, limitedSince: Instant?, usage: LineUsage, to now: Instant) {
        if let current = waiting, now - current.since > Self.patience { waiting = nil }
        guard started, pending.isEmpty, waiting == nil, usage != .overused else { return }
        if let current = drop, now >= current.next {
            if estimate >= Self.afterDrop * current.rate || current.left == 0 {
                drop = nil
            } else {
                drop = (current.rate, now + Self.dropInterval, current.left - 1)
                request(Self.afterDrop * current.rate, at: now)
                return
            }
        }
        if let limitedSince, now - limitedSince > .seconds(1), now - lastProbe >= Self.limitedInterval, estimate < ceiling {
            request(estimate * Self.further, at: now)
        }
    }

    /// The burst to send now; it is the caller's from here.
    mutating func take() -> ProbeCluster? {
        pending.isEmpty ? nil : pending.removeFirst()
    }

    private mutating func request(_ rate: Double, at now: Instant) {
        let target = min(rate, ceiling)
        if let last = pending.last, Double(last.rate.bitsPerSecond) >= target { return }
        let wanted = BitRate(bitsPerSecond: Int(target))
        pending.append(
            ProbeCluster(id: nextID, rate: wanted, packets: Self.packets, bytes: wanted.bytes(in: Self.duration)))
        waiting = (nextID, target, now)
        lastProbe = now
        nextID &+= 1
    }
}
