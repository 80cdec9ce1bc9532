import Basics
import Foundation
import Logging
import TestSupport
import Testing
import Threads

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import Outbound
@testable import Settings
@testable import WebServer

/// A receiver without a socket, for any number of webhooks.
final class FakePoster: HTTPPoster {
    struct State {
        var received: [String: [String]] = [:]
        var bodies: [[UInt8]] = []
        var running = 0
        var most = 0
        /// The URLs whose receivers do not answer.
        var silent: Set<String> = []
        var down: Set<String> = []
    }
    let state = Guarded(State())

    func post(_ attempt: HTTPPost) async -> PostAnswer {
        let isSilent = state.withLock { state in
            state.received[attempt.url, default: []].append(
                attempt.headers.first { $0.name == "webhook-id" }?.value ?? "")
            state.bodies.append(attempt.body)
            state.running += 1
            state.most = max(state.most, state.running)
            return state.silent.contains(attempt.url)
        }
        if isSilent { try? await Task.sleep(for: .seconds(600)) }
        return state.withLock { state in
            state.running -= 1
            return state.down.contains(attempt.url) ? .failure("down") : .status(200)
        }
    }

    func shutdown() async {}
    func received(_ url: String) -> [String] { state.withLock { $0.received[url] ?? [] } }
}

/// Webhooks with a folder of their own and `FakePoster`.
struct WebhookWorld {
    let scratch = ScratchDirectory()
    let client = FakePoster()

    func webhook(_ url: String, _ change: (inout Webhook) -> Void = { _ in }) throws -> Webhook {
        let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        var webhook = Webhook(url: url, host: "host", secrets: [secret])
        change(&webhook)
        return webhook
    }

    func start(_ bus: EventBus, _ webhooks: Webhook...) -> Webhooks {
        Webhooks(
            webhooks, directory: scratch.file("data/webhooks"), bus: bus, client: client,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    func finish(_ webhooks: Webhooks, _ bus: EventBus, within limit: Duration = .seconds(10)) async {
        bus.close()
        await webhooks.finish(by: MonotonicClock.now() + limit)
    }

    /// The waiting ids in the files of the folder.
    func waiting() -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: scratch.file("data/webhooks"))) ?? []
        return files.filter { $0.hasSuffix(".queue") }.flatMap { name in
            // Not by `WebhookJournal`, which would mend what the server is just writing.
            let bytes = FileManager.default.contents(atPath: scratch.file("data/webhooks/") + name) ?? Data()
            var (reader, ids) = (JournalReader(), [String]())
            reader.read(Array(bytes)[...]) { ids.append($0.id) }
            return ids
        }
    }
}
