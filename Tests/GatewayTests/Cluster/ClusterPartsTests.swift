import NIOCore
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import ClusterGateway
@testable import Gateway
@testable import Settings
@testable import Signalling
@testable import WebServer

@Suite struct ClusterPartsTests {
    @Test func `a cursor keeps the last event of every node`() {
        var cursor = EventCursor("aa-1, bb-2,nonsense,-,aa-5")
        #expect(cursor.description == "aa-5,bb-2")
        cursor.note(EventID(epoch: "bb", sequence: 9))
        #expect(cursor.id(in: "bb")?.sequence == 9 && cursor.id(in: "cc") == nil)
        for run in 0..<100 { cursor.note(EventID(epoch: "n\(run)", sequence: run)) }
        #expect(cursor.ids.count == 64 && cursor.id(in: "aa") == nil && cursor.id(in: "n99") != nil)
    }

    @Test func `results have the names that rules of alerts know them by`() {
        #expect(
            ProxyMetrics.Result.allCases.map(\.rawValue)
                == ["done", "misdirected", "full", "refused", "unanswered", "rubbish"])
    }

    @Test func `a stream is cut into events however its bytes come`() throws {
        let text = "retry: 2000\n\nid: aa-1\ndata: {\"x\":1}\n\n:\n\nid: aa-2\ndata: {}\n\nid: a"
        for size in [1, 3, 7, 1000] {
            var parser = EventParser(maxBytes: 100)
            var events: [String] = []
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                events += try parser.take(ByteBuffer(bytes: rest.prefix(size))).map { "\($0.id) \($0.json)" }
                rest = rest.dropFirst(size)
            }
            #expect(events == [#"aa-1 {"x":1}"#, "aa-2 {}"], "\(size)")
        }
        var parser = EventParser(maxBytes: 100)
        #expect(throws: EventParser.TooLong.self) {
            _ = try parser.take(ByteBuffer(repeating: UInt8(ascii: "x"), count: 101))
        }
    }

    @Test func `a page of recordings begins behind any place`() {
        let all = [("c", "2026-01-03"), ("z", "2026-01-02"), ("b", "2026-01-02"), ("a", "2026-01-01")]
        let items: [JSONValue] = all.map { ["id": .string($0.0), "startedAt": .string($0.1)] }
        func page(_ place: RecordingPlace, _ limit: Int) -> [JSONValue?] {
            place.page(limit: limit) { before in
                let start = before.flatMap { id in items.firstIndex { $0["id"] == .string(id) } }.map { $0 + 1 } ?? 0
                return Array(items[start...].prefix(1))
            }.map { $0["id"] }
        }
        #expect(page(.newest, 10) == ["c", "z", "b", "a"])
        #expect(page(.newest, 2) == ["c", "z"], "of one second the larger id comes first")
        #expect(page(RecordingPlace(startedAt: "2026-01-02", id: "m"), 10) == ["b", "a"])
        #expect(page(RecordingPlace(startedAt: "2026-01-01", id: "a"), 10).isEmpty)
    }

    @Test func `a join names its room as the endpoint reads it`() {
        func room(_ text: String) -> String? { ClientMessage.room(joinedBy: .text(text)) }
        #expect(room(#"{"type":"join","room":"r","name":"N"}"#) == "r")
        #expect(room(#"{"room":"r","name":"N","type":"j\u006fin"}"#) == "r", "an escaped type is one too")
        #expect(room(#"{"type":"join","name":"N"}"#) == nil)
        #expect(room(#"{"type":"offer","room":"r","name":"N"}"#) == nil)
        #expect(room(#"{"type":"join","resume":{"id":"p","secret":"x.eyJyb29tIjoicSJ9.y"}}"#) == "q")
        #expect(
            room(#"{"type":"join","room":"r","resume":{"id":"p","secret":"x.eyJyb29tIjoicSJ9.y"}}"#) == "r",
            "the ticket counts where the join names none")
        #expect(ClientMessage.room(joinedBy: .binary(Array("{}".utf8))) == nil)
        #expect(
            AppRTCCommand.room(in: Array(#"{"cmd":"register","roomid":"r_pin_123456","clientid":"1"}"#.utf8)) == "r")
    }
}
