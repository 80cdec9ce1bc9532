import Admission
package import Basics
package import Conference
import FoundationEssentials
package import Logging
package import Settings
import Threads

/// Sends the events of the bus to the webhooks of the settings.
///
/// One thread reads the bus, writes the queues and decides what is sent when; requests run as tasks, which report to
/// it. So no room, event loop or task ever waits for the disk or for a receiver, and a receiver that does not answer
/// delays no other. Where the disk itself stands still, the bus keeps its latest events until it goes on.
package final class Webhooks: Sendable {
    private struct Inbox {
        var hasEvents = true
        var answers: [(webhook: Int, id: String, answer: PostAnswer)] = []
        /// The webhooks whose next attempt is wanted at once.
        var retries: Set<Int> = []
        var end: End?
    }

    private struct End: Sendable {
        var deadline: Instant
        var done: @Sendable () -> Void
    }

    private static let pageLength = 500

    private let webhooks: [Webhook]
    private let bus: EventBus
    private let client: any HTTPPoster
    private let logger: Logger
    private let inbox = Condition(Inbox())
    private let statistics: Guarded<[WebhookDelivery.Statistics]>
    private let subscription: EventBus.Subscription

    /// Starts to send what waits from earlier runs, and all events of this one.
    ///
    /// - Parameter directory: the folder of the queues.
    package init(
        _ webhooks: [Webhook], directory: String, bus: EventBus, client: any HTTPPoster,
        limits: WebhookQueue.Limits = .init(), logger: Logger
    ) {
        self.webhooks = webhooks
        self.bus = bus
        self.client = client
        self.logger = logger
        statistics = Guarded(webhooks.map { _ in WebhookDelivery.Statistics() })
        let kinds = webhooks.reduce(into: Set()) { $0.formUnion($1.events) }
        subscription = bus.subscribe(to: kinds) { [inbox] in inbox.withLock(waking: .one) { $0.hasEvents = true } }
        DedicatedThread.start("webhooks") { [self] in run(directory, limits) }
    }

    /// Queues the last events, delivers what can be delivered until `deadline`, and ends. What was not delivered is sent
    /// after the next start. The bus is closed before.
    package func finish(by deadline: Instant) async {
        let isOver = Promise<Void>()
        inbox.withLock(waking: .one) { $0.end = End(deadline: deadline) { isOver.fulfil(()) } }
        // A disk that hangs must not keep the server from ending.
        await isOver.value(within: deadline - MonotonicClock.now() + .milliseconds(500))
        await client.shutdown()
    }

    /// Sends what waits for a webhook now, instead of at the end of its pause, also where it is off. Returns whether there
    /// is such a webhook.
    package func retry(_ number: Int) -> Bool {
        guard webhooks.indices.contains(number &- 1) else { return false }
        inbox.withLock(waking: .one) { _ = $0.retries.insert(number &- 1) }
        return true
    }

    /// What administrators read of a webhook, by its number in the settings.
    package struct Report: Sendable {
        package var number: Int
        package var host: String
        package var figures: WebhookDelivery.Statistics
    }

    package var reports: [Report] {
        zip(webhooks, statistics.withLock { $0 }).enumerated().map { index, pair in
            Report(number: index + 1, host: pair.0.host, figures: pair.1)
        }
    }

    // MARK: - The thread

    private static var time: WebhookTime {
        WebhookTime(now: MonotonicClock.now(), wall: Int64(Date().timeIntervalSince1970 * 1000))
    }

    private func run(_ directory: String, _ limits: WebhookQueue.Limits) {
        let folder = WebhookFolder(directory)
        for orphan in folder.orphans(of: webhooks) {
            logger.notice(
                "Events wait for a webhook that the settings do not have any more: delete the file if nobody needs them",
                metadata: ["file": "\(directory)/\(orphan)"])
        }
        let deliveries = webhooks.enumerated().map { index, webhook in
            let queue = WebhookQueue(folder.path(of: webhook), fault: folder.fault, limits: limits)
            if queue.isTorn { log(.warning, "Events of a webhook that were not written to their end are lost", index) }
            return WebhookDelivery(webhook, queue)
        }
        var position = 0
        var end: End?
        while true {
            let deadline = min(
                deliveries.map(\.nextDeadline).min() ?? .distantFuture, end?.deadline ?? .distantFuture)
            let news = inbox.wait(until: deadline == .distantFuture ? nil : deadline) { inbox -> Inbox? in
                guard inbox.hasEvents || !inbox.answers.isEmpty || !inbox.retries.isEmpty || inbox.end != nil else {
                    return nil
                }
                defer { inbox = Inbox(hasEvents: false) }
                return inbox
            }
            let time = Self.time
            for (webhook, id, answer) in news?.answers ?? [] { deliveries[webhook].answered(answer, to: id, at: time) }
            for webhook in news?.retries ?? [] { deliveries[webhook].retry() }
            end = news?.end ?? end
            if news?.hasEvents == true || end != nil { read(after: &position, into: deliveries, at: time) }
            for (index, delivery) in deliveries.enumerated() {
                if let attempt = delivery.nextAttempt(at: time) { send(attempt, of: index) }
                delivery.settle(at: time)
                for item in delivery.takeNews() { log(item, index) }
            }
            statistics.withLock { $0 = deliveries.map(\.statistics) }
            if let end, time.now >= end.deadline || deliveries.allSatisfy(\.isDone) {
                for delivery in deliveries { delivery.close(at: time) }
                // Before `done`: the next server may start then.
                folder.unlock()
                end.done()
                return
            }
        }
    }

    private func send(_ attempt: WebhookAttempt, of webhook: Int) {
        Task { [client, inbox] in
            let answer = await client.post(HTTPPost(attempt))
            inbox.withLock(waking: .one) { $0.answers.append((webhook, attempt.id, answer)) }
        }
    }

    /// Queues the events that are new on the bus.
    private func read(after position: inout Int, into deliveries: [WebhookDelivery], at time: WebhookTime) {
        while true {
            let page = bus.page(after: position, limit: Self.pageLength)
            guard let first = page.events.first?.event.sequence, let last = page.events.last?.event.sequence else {
                return
            }
            if page.isLate { for delivery in deliveries { delivery.miss(first - position - 1) } }
            position = last
            for delivery in deliveries {
                let events = page.events.filter { delivery.webhook.events.contains($0.event.happening.kind) }
                delivery.add(events.map { WebhookEvent($0, bus.epoch) }, at: time)
            }
        }
    }

    // MARK: - The log

    private func log(_ news: WebhookDelivery.News, _ index: Int) {
        switch news {
        case .fails(let reason):
            log(.warning, "A webhook fails: \(reason). Its events wait and are sent again", index)
        case .works(let failures):
            log(.notice, "A webhook works again", index, ["failures": "\(failures)"])
        case .isOff:
            log(
                .error,
                "A webhook is off until the next start, or POST /api/webhooks/\(index + 1)/retry: its receiver answered 410 (Gone). Its events wait",
                index)
        case .dropped(let count, let reason):
            log(.error, "Events of a webhook are lost", index, ["count": "\(count)", "reason": "\(reason.rawValue)"])
        case .diskFails(let fault):
            log(.error, "The events of a webhook are in memory only and end with the server: \(fault)", index)
        case .diskWorks: log(.notice, "The events of a webhook are on the disk again", index)
        }
    }

    private func log(_ level: Logger.Level, _ line: String, _ index: Int, _ facts: Logger.Metadata = [:]) {
        let own: Logger.Metadata = ["webhook": "\(index + 1)", "host": "\(webhooks[index].host)"]
        logger.log(level: level, "\(line)", metadata: own.merging(facts) { first, _ in first })
    }
}

extension WebhookEvent {
    /// An event of the bus, in the JSON that all its readers get.
    init(_ shared: Shared<ServerEvent>, _ epoch: String) {
        let event = shared.event
        self.init(
            id: EventID(epoch: epoch, sequence: event.sequence).description,
            time: Int64(event.time.timeIntervalSince1970 * 1000),
            isReplaceable: event.happening.kind == .participantUpdated, body: shared.text(epoch))
    }
}

extension Webhooks {
    /// The figures of each webhook, by its number in the settings and its host.
    package var samples: [MetricSample] {
        let now = Self.time.wall
        return zip(webhooks.indices, statistics.withLock { $0 }).flatMap { index, figures in
            let labels = ["webhook": "\(index + 1)", "host": webhooks[index].host]
            func gauge(_ name: String, _ help: String, _ value: Double) -> MetricSample {
                MetricSample(name, help, .gauge, value, labels: labels)
            }
            let dropped = WebhookDelivery.DropReason.allCases.map { reason in
                MetricSample(
                    "tessera_webhook_dropped_total", "Events that a webhook will not get, by the reason.", .counter,
                    Double(figures.dropped[reason] ?? 0), labels: labels.merging(["reason": reason.rawValue]) { $1 })
            }
            return dropped + [
                MetricSample(
                    "tessera_webhook_delivered_total", "Events that a webhook has taken.", .counter,
                    Double(figures.delivered), labels: labels),
                MetricSample(
                    "tessera_webhook_failed_attempts_total", "Attempts that a webhook did not answer with 2xx.",
                    .counter, Double(figures.failed), labels: labels),
                gauge("tessera_webhook_queued", "Events that wait for a webhook.", Double(figures.queued)),
                gauge(
                    "tessera_webhook_queued_bytes", "Bytes of the events that wait for a webhook.",
                    Double(figures.bytes)),
                gauge(
                    "tessera_webhook_oldest_seconds", "Age of the oldest event that waits for a webhook.",
                    figures.oldest.map { Double(max(0, now - $0)) / 1000 } ?? 0),
                gauge(
                    "tessera_webhook_off", "1: the webhook is off, since its receiver answered 410.",
                    figures.isOff ? 1 : 0),
                gauge(
                    "tessera_webhook_in_memory", "1: the disk does not take the webhook's events.",
                    figures.isInMemory ? 1 : 0),
            ]
        }
    }
}
