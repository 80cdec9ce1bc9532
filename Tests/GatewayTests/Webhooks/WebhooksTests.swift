import Basics
import Foundation
import HTTPTypes
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

@Suite struct WebhooksTests {
    private let world = WebhookWorld()
    private var client: FakePoster { world.client }

    @Test func `each webhook gets the events of its types, with the body of the stream`() async throws {
        let bus = EventBus()
        let webhooks = world.start(
            bus, try world.webhook("a"), try world.webhook("b") { $0.events = [.chat, .participantLeft] })
        bus.publish(.participantJoined(FakeConference.anna), room: "r", isPrivate: true)
        bus.publish(.chat(ChatMessage(id: "m", from: "p1", fromName: "Anna", text: "ä", at: Date())), room: "r")
        bus.publish(.participantLeft(FakeConference.anna, .left), room: "r")
        #expect(await eventually { client.received("a").count == 2 && client.received("b").count == 2 })
        #expect(client.received("a") == ["\(bus.epoch)-1", "\(bus.epoch)-3"])
        #expect(client.received("b") == ["\(bus.epoch)-2", "\(bus.epoch)-3"])
        let events = bus.page(after: 0, limit: 9).events
        #expect(Set(client.state.withLock { $0.bodies }) == Set(events.map { $0.text(bus.epoch) }))
        #expect(
            await eventually { webhooks.samples.first { $0.name == "tessera_webhook_delivered_total" }?.value == 2 })
        await world.finish(webhooks, bus)
        #expect(world.waiting().isEmpty)
    }

    /// The process of a test cannot die: the thread ends without the time for another attempt, and the bus is never
    /// closed.
    @Test func `200 people come and go while the receiver is down, and the server dies meanwhile`() async throws {
        client.state.withLock { $0.down = ["a"] }
        var published: [String] = []
        for run in 0..<2 {
            let bus = EventBus()
            let webhooks = world.start(bus, try world.webhook("a"))
            for person in 0..<100 {
                var info = FakeConference.anna
                info.id = "p\(run)-\(person)"
                bus.publish(.participantJoined(info), room: "r")
                bus.publish(.participantLeft(info, .left), room: "r")
            }
            published += (1...200).map { "\(bus.epoch)-\($0)" }
            #expect(await eventually { world.waiting().count == published.count }, "on the disk")
            await webhooks.finish(by: MonotonicClock.now())
        }
        client.state.withLock { $0.received = [:] }
        client.state.withLock { $0.down = [] }
        let bus = EventBus()
        let webhooks = world.start(bus, try world.webhook("a"))
        #expect(await eventually { client.received("a").count == 400 })
        #expect(client.received("a") == published)
        await world.finish(webhooks, bus)
        #expect(world.waiting().isEmpty && client.received("a").count == 400)
    }

    @Test func `a receiver that does not answer delays neither the others nor the end`() async throws {
        client.state.withLock { $0.silent = ["a"] }
        let bus = EventBus()
        let webhooks = world.start(bus, try world.webhook("a"), try world.webhook("b"))
        for _ in 0..<50 { bus.publish(.participantJoined(FakeConference.anna), room: "r") }
        #expect(await eventually { client.received("b").count == 50 })
        #expect(client.received("a").count == 1 && client.state.withLock { $0.most } <= 2, "one at a time")
        let start = ContinuousClock.now
        await world.finish(webhooks, bus, within: .milliseconds(300))
        // The receiver would take ten minutes. How long it does take is the other tests' doing.
        #expect(
            ContinuousClock.now - start < .seconds(300) && world.waiting().count == 50,
            "the rest comes after the next start")
    }

    @Test func `the last events are delivered before the end`() async throws {
        let bus = EventBus()
        let webhooks = world.start(bus, try world.webhook("a"))
        for _ in 0..<100 { bus.publish(.participantJoined(FakeConference.anna), room: "r") }
        await world.finish(webhooks, bus)
        #expect(client.received("a").count == 100 && world.waiting().isEmpty)
    }

    @Test func `events that the bus forgot before they were read are counted`() async throws {
        let bus = EventBus(capacity: 10)
        for _ in 0..<25 { bus.publish(.participantJoined(FakeConference.anna), room: "r") }
        let webhooks = world.start(bus, try world.webhook("a"))
        #expect(await eventually { client.received("a").count == 10 })
        let missed = webhooks.samples.first { $0.labels["reason"] == "missed" }
        #expect(missed?.value == 15 && missed?.labels["host"] == "host" && missed?.labels["webhook"] == "1")
        await world.finish(webhooks, bus)
    }

    @Test func `a folder that another server uses, or that cannot be made, is left alone`() async throws {
        let bus = EventBus()
        let webhooks = world.start(bus, try world.webhook("a"))
        #expect(
            await eventually {
                world.scratch.files == ["data"] && WebhookFolder(world.scratch.file("data/webhooks")).fault != nil
            })
        let second = world.start(bus, try world.webhook("b"))
        bus.publish(.participantJoined(FakeConference.anna), room: "r")
        #expect(await eventually { client.received("b").count == 1 && client.received("a").count == 1 })
        #expect(second.samples.first { $0.name == "tessera_webhook_in_memory" }?.value == 1)
        #expect(webhooks.samples.first { $0.name == "tessera_webhook_in_memory" }?.value == 0)
        #expect(WebhookFolder("/proc/nowhere").fault?.contains("events.directory") == true)
        await world.finish(webhooks, bus)
        await second.finish(by: MonotonicClock.now())
    }

    @Test func `the API tells what waits, and sends it at once`() async throws {
        client.state.withLock { $0.down = ["a"] }
        let bus = EventBus()
        let webhooks = world.start(bus, try world.webhook("a"))
        for _ in 0..<3 { bus.publish(.participantJoined(FakeConference.anna), room: "r") }
        #expect(await eventually { webhooks.reports.first?.figures.failure == "down" })
        let host = await Host(webhooks: webhooks)
        let list = try await host.ask(.get, "/api/webhooks", from: "127.0.0.1")
        guard case .array(let all) = list.json, let first = all.first else { Issue.record("no list"); return }
        #expect(all.count == 1 && first["number"] == 1 && first["host"] == "host" && first["failure"] == "down")
        #expect(first["queued"] == 3 && first["off"] == false && first["oldest"] != nil)
        client.state.withLock { $0.down = [] }
        #expect(try await host.ask(.post, "/api/webhooks/1/retry", from: "127.0.0.1").status == 202)
        #expect(await eventually(.milliseconds(1500)) { webhooks.reports.first?.figures.delivered == 3 })
        for number in ["0", "2", "x", "-1"] {
            #expect(try await host.ask(.post, "/api/webhooks/\(number)/retry", from: "127.0.0.1").status == 404)
        }
        await world.finish(webhooks, bus)
    }

    @Test func `files of webhooks that are gone are found`() throws {
        let folder = WebhookFolder(world.scratch.path)
        let (old, new) = (try world.webhook("old"), try world.webhook("new"))
        try "+".write(toFile: try #require(folder.path(of: old)), atomically: false, encoding: .utf8)
        try "+".write(toFile: try #require(folder.path(of: new)), atomically: false, encoding: .utf8)
        #expect(folder.orphans(of: [new]).count == 1 && folder.orphans(of: [new, old]).isEmpty)
    }
}
