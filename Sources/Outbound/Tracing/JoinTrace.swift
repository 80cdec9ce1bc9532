import Basics
import Conference
import FoundationEssentials
import WebServer

/// The trace of one join, from the seat to the first frames both ways, as OpenTelemetry's spans. A value.
struct JoinTrace: Sendable {
    var room: String
    var participant: String
    /// On the clock of `milestones`.
    var joined: Instant
    /// Whether the participant has a camera on: others have no first picture.
    var hasCamera: Bool
    var milestones = JoinMilestones()

    /// Whether no step is open any more.
    var isComplete: Bool {
        milestones.firstFrameSent != nil && (milestones.firstPicture != nil || !hasCamera)
    }

    private struct Step {
        var name: String
        var start: Instant?
        var end: Instant?
    }

    private var steps: [Step] {
        [
            Step(name: "signalling", start: joined, end: milestones.described),
            Step(name: "ice", start: milestones.described, end: milestones.path),
            Step(name: "dtls", start: milestones.path, end: milestones.connected),
            Step(name: "first decoded frame", start: milestones.connected, end: milestones.firstPicture),
            Step(name: "first frame sent", start: milestones.connected, end: milestones.firstFrameSent),
        ]
    }

    /// The spans in the JSON of OTLP 1.0: `join`, and a child for each step that was reached. A join whose media never
    /// connected has the status of an error, with the first step that was not reached.
    ///
    /// - Parameters:
    ///   - now: when a join ends whose media never connected.
    ///   - clockOffset: nanoseconds since 1970 at the zero of the milestones' clock.
    func spans(at now: Instant, clockOffset: Int64) -> [JSONValue] {
        let trace = Self.id(16)
        let root = Self.id(8)
        func span(_ name: String, _ id: String, _ start: Instant, _ end: Instant) -> JSONValue {
            [
                "traceId": .string(trace), "spanId": .string(id), "name": .string(name),
                // SPAN_KIND_INTERNAL
                "kind": 1,
                // Proto3's JSON has 64-bit numbers as strings.
                "startTimeUnixNano": .string("\(start.nanoseconds &+ clockOffset)"),
                "endTimeUnixNano": .string("\(max(start, end).nanoseconds &+ clockOffset)"),
            ]
        }
        let done = steps.compactMap { step -> (name: String, start: Instant, end: Instant)? in
            guard let start = step.start, let end = step.end else { return nil }
            return (step.name, start, end)
        }
        let isConnected = milestones.connected != nil
        let end = isConnected ? done.map(\.end).max() ?? now : now
        // STATUS_CODE_OK, STATUS_CODE_ERROR
        let missing = steps.first { $0.end == nil }?.name ?? ""
        let status: JSONValue = isConnected ? ["code": 1] : ["code": 2, "message": .string("no \(missing)")]
        let join = span("join", root, joined, end).with("status", status)
            .with(
                "attributes",
                [Self.attribute("tessera.room", room), Self.attribute("tessera.participant", participant)])
        return [join]
            + done.map { step in
                span(step.name, Self.id(8), step.start, step.end).with("parentSpanId", .string(root))
            }
    }

    /// The body of a request with spans of a server of this version.
    static func body(_ spans: [JSONValue], version: String) -> [UInt8] {
        let resource: JSONValue = [
            "attributes": [attribute("service.name", "tessera"), attribute("service.version", version)]
        ]
        let scope: JSONValue = ["scope": ["name": "tessera.join"], "spans": .array(spans)]
        let all: JSONValue = ["resourceSpans": [["resource": resource, "scopeSpans": [scope]]]]
        return all.bytes
    }

    private static func attribute(_ key: String, _ value: String) -> JSONValue {
        ["key": .string(key), "value": ["stringValue": .string(value)]]
    }

    /// Random bytes in hexadecimal digits.
    private static func id(_ count: Int) -> String {
        Hexadecimal.encode((0..<count).map { _ in UInt8.random(in: 1...255) })
    }
}
