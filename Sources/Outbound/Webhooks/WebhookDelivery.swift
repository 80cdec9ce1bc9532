import Basics
import Settings

/// What one webhook is sent and when: its queue, and the state of its attempts. No clock, socket, thread or log inside.
/// Confined to the thread of `Webhooks`.
///
/// The events go one at a time, in order: the next one is sent when the receiver has answered 2xx for the one before it.
/// After a failure the same event is sent again after a short pause, for as long as it is young enough: one small request
/// each 10 s is cheap for both sides, and a receiver that comes back gets its queue within seconds. 410 ends all
/// attempts.
package final class WebhookDelivery {
    /// The mean pauses after the first failure, the second, and so on; after the last one it stays.
    static let pauses: [Duration] = [.seconds(2), .seconds(5), .seconds(10)]
    /// The part of a pause by which it is shorter or longer at random, so that the nodes of a cluster do not meet a
    /// receiver that comes back all at once.
    static let jitter = 0.25
    /// The shortest pause, for a receiver whose `Retry-After` is 0.
    static let shortestPause = Duration.seconds(1)

    enum DropReason: String, Sendable, CaseIterable {
        /// Older than `retryFor`.
        case expired
        /// More waits than the queue holds.
        case full
        /// The events came faster than the disk took them, and the bus has forgotten them.
        case missed
    }

    /// What the log should tell.
    enum News: Equatable {
        /// The first failure after a success.
        case fails(String)
        case works(after: Int)
        /// The receiver wants no more: 410.
        case isOff
        case dropped(Int, DropReason)
        case diskFails(String)
        case diskWorks
    }

    package struct Statistics: Sendable, Equatable {
        package var queued = 0
        var bytes = 0
        /// When the oldest event that waits happened, in milliseconds since 1970.
        package var oldest: Int64?
        var delivered = 0
        var failed = 0
        var dropped: [DropReason: Int] = [:]
        package var isOff = false
        var isInMemory = false
        /// Why the last attempt failed; nil: it did not.
        package var failure: String?
    }

    private enum State: Equatable {
        case ready
        case sending(String)
        case paused(until: Instant)
        case off
    }

    let webhook: Webhook
    private let queue: WebhookQueue
    private var state = State.ready
    /// Failures since the last success.
    private var failures = 0
    private var lastFailure: String?
    private var counts = Statistics()
    private var news: [News] = []
    private var toldFault: String?

    /// A number from 0 to 1 for each pause.
    private let random: () -> Double

    init(_ webhook: Webhook, _ queue: WebhookQueue, random: @escaping () -> Double = { .random(in: 0...1) }) {
        self.webhook = webhook
        self.queue = queue
        self.random = random
    }

    /// Queues events.
    func add(_ events: [WebhookEvent], at time: WebhookTime) {
        drop(queue.add(events, keepsFirst: isSending, at: time.now), .full)
    }

    /// Counts events that cannot be queued any more.
    func miss(_ count: Int) { drop(count, .missed) }

    /// The next attempt, if it is time for one. `answered` must be called with its end.
    func nextAttempt(at time: WebhookTime) -> WebhookAttempt? {
        switch state {
        case .ready: break
        case .paused(let end) where time.now >= end: break
        case .paused, .sending, .off: return nil
        }
        guard let first = queue.first else {
            state = .ready
            return nil
        }
        guard let body = queue.firstBody else {
            fail("the disk cannot be read", retryAfter: nil, at: time)
            return nil
        }
        state = .sending(first.id)
        return WebhookAttempt(webhook, id: first.id, body: body, at: time.wall)
    }

    func answered(_ answer: PostAnswer, to id: String, at time: WebhookTime) {
        guard state == .sending(id) else { return }
        switch answer {
        case .status(200...299, _):
            queue.removeFirst()
            counts.delivered += 1
            if failures > 0 { news.append(.works(after: failures)) }
            (failures, lastFailure, state) = (0, nil, .ready)
        case .status(410, _):
            counts.failed += 1
            lastFailure = "status 410: the receiver wants no more"
            state = .off
            news.append(.isOff)
        case .status(let status, let retryAfter):
            let hint = (300...399).contains(status) ? ": redirects are not followed, set the URL that it leads to" : ""
            let isBusy = status == 429 || status == 503
            fail("status \(status)\(hint)", retryAfter: isBusy ? retryAfter : nil, at: time)
        case .failure(let reason): fail(reason, retryAfter: nil, at: time)
        }
    }

    /// Ends a pause, and being off: the next attempt is due at once.
    func retry() {
        switch state {
        case .paused, .off: state = .ready
        case .ready, .sending: break
        }
    }

    private func fail(_ reason: String, retryAfter: Duration?, at time: WebhookTime) {
        counts.failed += 1
        failures += 1
        lastFailure = reason
        if failures == 1 { news.append(.fails(reason)) }
        dropExpired(at: time)
        let mean = Self.pauses[min(failures, Self.pauses.count) - 1]
        var pause = mean * (1 + Self.jitter * (2 * random() - 1))
        // The last attempt is at the end of the event's time.
        if let first = queue.first {
            let left = Duration.milliseconds(first.time - time.wall) + webhook.retryFor
            pause = min(pause, max(left, Self.shortestPause))
        }
        if let retryAfter { pause = max(retryAfter, Self.shortestPause) }
        state = .paused(until: time.now + pause)
    }

    private func dropExpired(at time: WebhookTime) {
        let limit = time.wall - webhook.retryFor.nanoseconds / 1_000_000
        var dropped = 0
        while let first = queue.first, first.time <= limit {
            queue.removeFirst()
            dropped += 1
        }
        drop(dropped, .expired)
    }

    private func drop(_ count: Int, _ reason: DropReason) {
        guard count > 0 else { return }
        counts.dropped[reason, default: 0] += count
        news.append(.dropped(count, reason))
    }

    /// Does what the queue has to do on the disk.
    func settle(at time: WebhookTime) {
        if state == .off { dropExpired(at: time) }
        queue.settle(at: time.now)
        if (queue.fault == nil) != (toldFault == nil) {
            news.append(queue.fault.map { .diskFails($0) } ?? .diskWorks)
            toldFault = queue.fault
        }
    }

    /// Writes what waits before the end.
    func close(at time: WebhookTime) { queue.close(at: time.now) }

    /// When `nextAttempt` or `settle` has something to do.
    var nextDeadline: Instant {
        var attempt = Instant.distantFuture
        if case .paused(let end) = state { attempt = end }
        return min(attempt, queue.nextSettling ?? .distantFuture)
    }

    private var isSending: Bool { if case .sending = state { true } else { false } }

    /// Whether all that can be delivered now is: nothing waits, or the receiver does not take it.
    var isDone: Bool {
        switch state {
        case .ready: queue.count == 0
        case .sending: false
        case .paused, .off: true
        }
    }

    var statistics: Statistics {
        var statistics = counts
        (statistics.queued, statistics.bytes, statistics.oldest) = (queue.count, queue.bytes, queue.first?.time)
        (statistics.isOff, statistics.isInMemory) = (state == .off, queue.fault != nil)
        statistics.failure = lastFailure
        return statistics
    }

    /// What happened since the last call, for the log.
    func takeNews() -> [News] {
        defer { news = [] }
        return news
    }
}
