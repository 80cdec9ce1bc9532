import Basics

/// A burst at a rate above the estimate, to find out whether the link carries it, or at the estimate, to find out
/// whether it still does.
struct ProbeCluster: Sendable, Equatable {
    var id: Int
    var rate: BitRate
    /// The cluster ends when both are reached.
    var packets: Int
    var bytes: Int
}

/// Decides when to look for a higher rate: at the start, after success, after a large drop, and now and then while a
/// higher rate would be of use, however much or little the application sends, because a better rendition is not sent
/// just to find out. It also decides when to check whether an earlier measurement still holds, if the traffic does not
/// show it.
///
/// libwebrtc `probe_controller.cc`, except for the checks.
struct ProbeController: Sendable {
    /// One step at a time: libwebrtc's second burst at six times the start would fill the queue of a thin link for half
    /// a second.
    static let startFactors = [3.0]
    static let packets = 5
    static let duration: Duration = .milliseconds(15)
    /// The probe after a failed one is longer, and on a link with jitter it lasts `durationOfJitter` times the jitter:
    /// jitter as long as the burst hides any rate.
    static let longestDuration: Duration = .milliseconds(60)
    static let durationOfJitter = 5.0
    /// But no burst occupies the link for longer than this, if the estimate is right.
    static let longestQueue: Duration = .milliseconds(60)
    /// The first probe meets an unknown link, whose queue may hold no more than this.
    static let longestQueueOfFirst: Duration = .milliseconds(30)
    /// A measured rate above this part of the probed one leads to the next step …
    static let success = 0.7
    /// … which is larger by this factor.
    static let further = 2.0
    /// While a higher rate would be of use, a probe looks for it this often …
    static let interval: Duration = .seconds(5)
    /// … sooner at the start, as long as nothing was found: a browser that has just opened the page is busy and delays
    /// the first bursts …
    static let startInterval: Duration = .seconds(1)
    /// … and less often after each failed probe of the longest duration, since a burst on a full link can be heard …
    static let slowing = 1.6
    static let longestInterval: Duration = .seconds(30)
    /// … and a measured rate above this factor counts as a success.
    static let find = 1.15
    /// A fall below this part of the rate before is a large drop.
    static let largeDrop = 0.66
    static let afterDrop = 0.85
    /// How long after a drop the old rate is tried again, and how often.
    static let dropInterval: Duration = .seconds(3)
    static let dropAttempts = 10
    /// … in steps from the estimate on: on a link that stays thin a burst of the old rate would fill the queue each time.
    static let largestStepAfterDrop = 8.0
    /// A cluster without an answer for this long lost packets and measured nothing …
    static let answerTimeout: Duration = .seconds(1)
    /// … and is sent again this often before it counts as failed.
    static let repeats = 2
    /// An estimate that the traffic does not test is checked this often …
    static let checkInterval: Duration = .seconds(4)
    /// … and lowered when two bursts in a row, this far apart, measured less than this part of it.
    static let doubtInterval: Duration = .milliseconds(600)
    static let refuted = 0.6

    private enum Purpose { case more, check }

    private var nextID = 1
    private var started = false
    private var waiting: (id: Int, purpose: Purpose, rate: Double, before: Double, since: Instant)?
    private var unanswered = 0
    private var interval = startInterval
    private var duration = duration
    private var lastProbe: Instant = .distantPast
    /// When the last probe for a higher rate was sent.
    private var lastStep: Instant = .distantPast
    private var drop: (rate: Double, next: Instant, left: Int)?
    /// The rate of a burst far below the estimate, and when the next burst is to confirm it.
    private var doubt: (rate: Double, next: Instant)?
    /// Only the first burst has been requested.
    var isFirst: Bool { nextID == 2 }
    private(set) var pending: [ProbeCluster] = []
    /// bit/s; no probe goes above it.
    var ceiling: Double
    /// How unevenly packets arrive.
    var jitter: Duration = .zero

    init(ceiling: Double) {
        self.ceiling = ceiling
    }

    mutating func start(rate: Double, at now: Instant) {
        guard !started else { return }
        started = true
        restart(rate: rate, at: now)
    }

    /// Begins anew with another rate: the first one was far below what the link carries.
    mutating func restart(rate: Double, at now: Instant) {
        pending.removeAll()
        (waiting, doubt, unanswered) = (nil, nil, 0)
        for factor in Self.startFactors { request(rate * factor, from: rate, at: now) }
    }

    /// Takes the rate that a cluster measured, in bit/s.
    ///
    /// - Parameter estimate: the estimate in force.
    /// - Returns: what the link carries, if this burst and the one before agree that it is far less than the estimate.
    mutating func measured(_ rate: Double, cluster: Int, estimate: Double, at now: Instant) -> Double? {
        guard let current = waiting, current.id == cluster else { return nil }
        waiting = nil
        unanswered = 0
        if rate < Self.refuted * estimate {
            if current.purpose == .more { failed() }
            guard let before = doubt else {
                doubt = (rate, now + Self.doubtInterval)
                return nil
            }
            doubt = nil
            return max(rate, before.rate)
        }
        doubt = nil
        guard current.purpose == .more else { return nil }
        if rate > Self.find * current.before {
            // A success far below the requested rate may be due to jitter: at the start the next probe follows soon.
            interval = rate > Self.success * current.rate ? Self.interval : min(interval, Self.interval)
            duration = Self.duration
        } else {
            failed()
        }
        if rate > Self.success * current.rate, current.rate < ceiling {
            request(rate * Self.further, from: rate, at: now)
        }
        return nil
    }

    /// Records that delay or loss lowered the estimate from `old` to `new`.
    mutating func dropped(from old: Double, to new: Double, at now: Instant) {
        pending.removeAll()
        waiting = nil
        doubt = nil
        interval = Self.interval
        lastProbe = now
        lastStep = now
        guard new < Self.largeDrop * old else { return }
        drop = (max(old, drop?.rate ?? 0), now + Self.dropInterval, Self.dropAttempts)
    }

    /// Records that a dead link recovered: nothing was overused, and the next probe tries the rate before the
    /// interruption at once.
    mutating func returned(to old: Double, from estimate: Double, at now: Instant) {
        pending.removeAll()
        waiting = nil
        drop = nil
        if old > estimate { request(old, from: old, at: now) }
    }

    /// - Parameters:
    /// - isFree: no queue stands on the link.
    /// - isUntested: so little is sent that the traffic does not test the estimate.
    mutating func advance(estimate: Double, isFree: Bool, isUntested: Bool, to now: Instant) {
        var again: Double?
        if let current = waiting, now - current.since > Self.answerTimeout {
            waiting = nil
            if current.purpose == .more {
                duration = min(duration * 2, Self.longestDuration)
                unanswered += 1
                if unanswered <= Self.repeats {
                    again = current.rate
                } else {
                    unanswered = 0
                    failed()
                }
            }
        }
        guard started, pending.isEmpty, waiting == nil, isFree else { return }
        if let again, again > estimate {
            request(again, from: estimate, at: now)
            return
        }
        if let doubt, now >= doubt.next {
            request(estimate, from: estimate, purpose: .check, at: now)
            return
        }
        if let current = drop, now >= current.next {
            if estimate >= Self.afterDrop * current.rate || current.left == 0 {
                drop = nil
            } else {
                drop = (current.rate, now + Self.dropInterval, current.left - 1)
                let rate = min(Self.afterDrop * current.rate, Self.largestStepAfterDrop * estimate)
                request(rate, from: estimate, at: now)
                return
            }
        }
        if now - lastStep >= interval, estimate < ceiling {
            request(estimate * Self.further, from: estimate, at: now)
        } else if isUntested, now - lastProbe >= Self.checkInterval {
            request(estimate, from: estimate, purpose: .check, at: now)
        }
    }

    /// Takes out the burst to send now.
    mutating func take() -> ProbeCluster? {
        pending.isEmpty ? nil : pending.removeFirst()
    }

    private mutating func failed() {
        // Longer bursts may still find what jitter hid from this one, so the interval does not grow yet.
        let isStart = interval < Self.interval
        if isStart || duration >= Self.longestDuration { interval = min(interval * Self.slowing, Self.longestInterval) }
        duration = min(duration * 2, Self.longestDuration)
    }

    private mutating func request(_ rate: Double, from before: Double, purpose: Purpose = .more, at now: Instant) {
        let target = min(rate, ceiling)
        if let last = pending.last, Double(last.rate.bitsPerSecond) >= target { return }
        let wanted = BitRate(bitsPerSecond: Int(saturating: target))
        let length = min(max(duration, jitter * Self.durationOfJitter), Self.longestDuration)
        let before = BitRate(bitsPerSecond: Int(saturating: before))
        let bytes =
            nextID == 1
            ? before.bytes(in: Self.longestQueueOfFirst)
            : min(wanted.bytes(in: length), max(wanted.bytes(in: Self.duration), before.bytes(in: Self.longestQueue)))
        pending.append(ProbeCluster(id: nextID, rate: wanted, packets: Self.packets, bytes: bytes))
        waiting = (nextID, purpose, target, Double(before.bitsPerSecond), now)
        lastProbe = now
        if purpose == .more { lastStep = now }
        nextID &+= 1
    }
}
