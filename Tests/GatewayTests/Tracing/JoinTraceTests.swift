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

@Suite struct JoinTraceTests {
    private static let second: Int64 = 1_000_000_000

    private func trace(_ change: (inout JoinMilestones) -> Void = { _ in }) -> JoinTrace {
        var trace = JoinTrace(
            room: "r", participant: "p1", joined: Instant(nanoseconds: 10 * Self.second), hasCamera: true)
        change(&trace.milestones)
        return trace
    }

    private func spans(_ trace: JoinTrace) -> [JSONValue] {
        trace.spans(at: Instant(nanoseconds: 30 * Self.second), clockOffset: 1_767_000_000 * Self.second)
    }

    private func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: 10 * Self.second + milliseconds * 1_000_000)
    }

    private func complete() -> JoinTrace {
        trace {
            ($0.described, $0.path, $0.connected) = (at(20), at(50), at(90))
            ($0.firstPicture, $0.firstFrameSent) = (at(300), at(150))
        }
    }

    @Test func `a complete join has a span for each step, within the join's`() throws {
        let spans = spans(complete())
        #expect(
            spans.map { $0["name"] } == [
                "join", "signalling", "ice", "dtls", "first decoded frame", "first frame sent",
            ])
        #expect(spans[0]["startTimeUnixNano"] == "1767000010000000000" && spans[0]["status"] == ["code": 1])
        #expect(spans[0]["endTimeUnixNano"] == "1767000010300000000" && spans[0]["parentSpanId"] == nil)
        #expect(
            spans[3]["startTimeUnixNano"] == "1767000010050000000"
                && spans[3]["endTimeUnixNano"] == "1767000010090000000")
        #expect(Set(spans.compactMap { $0["traceId"].map { "\($0)" } }).count == 1)
        #expect(Set(spans.compactMap { $0["spanId"].map { "\($0)" } }).count == 6)
        #expect(spans.dropFirst().allSatisfy { $0["parentSpanId"] == spans[0]["spanId"] })
        guard case .string(let id)? = spans[0]["traceId"], case .string(let span)? = spans[0]["spanId"] else {
            Issue.record("no ids")
            return
        }
        #expect(id.count == 32 && span.count == 16 && (id + span).allSatisfy(\.isHexDigit))
    }

    @Test func `a join that does not connect names the step, one without a camera is complete`() {
        let stuck = trace { ($0.described, $0.path) = (at(20), at(50)) }
        #expect(!stuck.isComplete && spans(stuck).map { $0["name"] } == ["join", "signalling", "ice"])
        #expect(spans(stuck)[0]["status"] == ["code": 2, "message": "no dtls"])
        #expect(spans(stuck)[0]["endTimeUnixNano"] == "1767000030000000000")
        var listener = complete()
        listener.milestones.firstPicture = nil
        #expect(!listener.isComplete)
        listener.hasCamera = false
        #expect(listener.isComplete && spans(listener)[0]["status"] == ["code": 1])
    }

    @Test func `joins are sent to the collector, and dropped while it is away`() async throws {
        let service = FakeConference(hasEvents: true)
        let poster = FakePoster()
        poster.state.withLock { $0.down = ["http://c/"] }
        let tracer = JoinTracer(
            "http://c/", service.services, poster: poster, version: "1",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        func value(_ name: String) -> Double? { tracer.samples.first { $0.name == name }?.value }
        service.state.withLock { $0.milestones = complete().milestones }
        service.events.publish(.participantJoined(FakeConference.anna), room: "r")
        #expect(await eventually { value("tessera_traces_dropped_total") == 1 })
        poster.state.withLock { $0.down = [] }
        service.events.publish(.participantJoined(FakeConference.anna), room: "r")
        #expect(await eventually { value("tessera_traces_sent_total") == 1 })
        let bodies = poster.state.withLock { $0.bodies }
        try #require(bodies.count == 2)
        let spans = try JSON.decode(JSONValue.self, from: bodies[1])["resourceSpans"]
        guard case .array(let resources)? = spans, case .array(let scopes)? = resources.first?["scopeSpans"],
            case .array(let sent)? = scopes.first?["spans"]
        else {
            Issue.record("\(String(decoding: bodies[1], as: UTF8.self))")
            return
        }
        #expect(sent.count == 6)
        await tracer.stop()
    }
}
