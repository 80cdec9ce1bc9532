import Basics

/// A burst at a rate above the estimate, to see whether it gets through.
struct ProbeCluster: Sendable, Equatable {
    var id: Int
    var rate: BitRate
    /// Both must be reached.
    var packets: Int
    var bytes: Int
}

/// When to look for more: at the start, after success, after a large drop, and now and then while more would be of use, however
/// much or little the application sends: a rendition that could be better is not sent to find out.
///
/// libwebrtc `probe_controller.cc`.
struct ProbeController: Sendable {
    /// One step at a time: libwebrtc's second burst at six times the start would fill a thin line's queue for half a second.
    static let startFactors = [3.0]
    static let packets = 5
    static let duration: Duration = .milliseconds(15)
    /// After a probe in vain the next is longer: jitter of the burst's own length hides any rate.
    static let longestDuration: Duration = .milliseconds(60)
    /// But no burst takes the line for longer than this, if the estimate is right.
    static let longestQueue: Duration = .milliseconds(60)
    /// A measured rate above this part of the probed one asks for the next step …
    static let success = 0.7
    /// … which is this much more.
    static let further = 2.0
    /// Where more would be of use it is looked for so often …
    static let interval: Duration = .seconds(5)
    /// … after each time in vain more rarely, since a burst on a full line is heard …
    static let slowing = 1.6
    static let longestInterval: Duration = .seconds(30)
    /// … and anything above this is a find.
    static let find = 1.15
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
    private var waiting: (id: Int, rate: Double, before: Double, since: Instant)?
    private var interval = interval
    private var duration = duration
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
        for factor in Self.startFactors { request(rate * factor, from: rate, at: now) }
    }

    /// What a cluster measured, in bit/s.
    mutating func measured(_ rate: Double, at now: Instant) {
        guard let current = waiting else { return }
        waiting = nil
        if rate > Self.find * current.before {
            interval = Self.interval
            duration = Self.duration
        } else {
            failed()
        }
        if rate > Self.success * current.rate, current.rate < ceiling { request(rate * Self.further, from: rate, at: now) }
    }

    /// The delay or loss took the estimate from `old` to `new`.
    mutating func dropped(from old: Double, to new: Double, at now: Instant) {
        pending.removeAll()
        waiting = nil
        interval = Self.interval
        lastProbe = now
        guard new < Self.largeDrop * old else { return }
        drop = (max(old, drop?.rate ?? 0), now + Self.dropInterval, Self.dropAttempts)
    }

    /// - Parameter isFree: nothing waits on the line.
    mutating func advance(estimate: Double, isFree: Bool, to now: Instant) {
        if let current = waiting, now - current.since > Self.patience {
            waiting = nil
            failed()
        }
        guard started, pending.isEmpty, waiting == nil, isFree else { return }
        if let current = drop, now >= current.next {
            if estimate >= Self.afterDrop * current.rate || current.left == 0 {
                drop = nil
            } else {
                drop = (current.rate, now + Self.dropInterval, current.left - 1)
                request(Self.afterDrop * current.rate, from: estimate, at: now)
                return
            }
        }
        if now - lastProbe >= interval, estimate < ceiling { request(estimate * Self.further, from: estimate, at: now) }
    }

    /// The burst to send now; it is the caller's from here.
    mutating func take() -> ProbeCluster? {
        pending.isEmpty ? nil : pending.removeFirst()
    }

    private mutating func failed() {
        interval = min(interval * Self.slowing, Self.longestInterval)
        duration = min(duration * 2, Self.longestDuration)
    }

    private mutating func request(_ rate: Double, from before: Double, at now: Instant) {
        let target = min(rate, ceiling)
        if let last = pending.last, Double(last.rate.bitsPerSecond) >= target { return }
        let wanted = BitRate(bitsPerSecond: Int(target))
        let bytes = min(
            wanted.bytes(in: duration), max(wanted.bytes(in: Self.duration), BitRate(bitsPerSecond: Int(before)).bytes(in: Self.longestQueue)))
        pending.append(ProbeCluster(id: nextID, rate: wanted, packets: Self.packets, bytes: bytes))
        waiting = (nextID, target, before, now)
        lastProbe = now
        nextID &+= 1
    }
}
