import Basics
import Foundation
import TestSupport
import Testing

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct WebhooksRealTimeTests {
    private let world = WebhookWorld()

    @Test func `an event is on the disk within 100 ms`() async throws {
        world.client.state.withLock { $0.silent = ["a"] }
        let bus = EventBus()
        let webhooks = world.start(bus, try world.webhook("a"))
        #expect(await eventually { world.scratch.files == ["data"] })
        try await Task.sleep(for: .milliseconds(50))
        bus.publish(.participantJoined(FakeConference.anna), room: "r")
        #expect(await eventually(.milliseconds(100)) { world.waiting().count == 1 })
        await world.finish(webhooks, bus, within: .zero)
    }
}
