import Foundation
import TestSupport
import Testing

@testable import Admission
@testable import Outbound
@testable import WebServer

@Suite struct WebhookJournalTests {
    private struct Found: Equatable {
        var id: String
        var time: Int64
        var isReplaceable: Bool
        var body: String
    }

    private let scratch = ScratchDirectory()
    private var path: String { scratch.file("a.queue") }

    private func event(_ id: Int, _ body: String = "{}", isReplaceable: Bool = false) -> WebhookEvent {
        WebhookEvent(id: "e-\(id)", time: Int64(1000 + id), isReplaceable: isReplaceable, body: Array(body.utf8))
    }

    private func read(_ isTorn: inout Bool) throws -> [Found] {
        var lines: [(String, Int64, Bool, WebhookJournal.Place)] = []
        let journal = try WebhookJournal(path, isTorn: &isTorn) { lines.append(($0, $1, $2, $3)) }
        return try lines.map { line in
            let body = try #require(journal.body(line.3))
            return Found(id: line.0, time: line.1, isReplaceable: line.2, body: String(decoding: body, as: UTF8.self))
        }
    }

    private func read(isTorn: Bool = false) throws -> [Found] {
        var found = false
        let lines = try read(&found)
        #expect(found == isTorn)
        return lines
    }

    private func write(_ events: WebhookEvent...) throws -> (WebhookJournal, [WebhookJournal.Place]) {
        var isTorn = false
        let journal = try WebhookJournal(path, isTorn: &isTorn) { _, _, _, _ in }
        return (journal, try journal.append(events))
    }

    @Test func `what was appended and not struck is found again`() throws {
        let (journal, places) = try write(
            event(1, #"{"a":1}"#), event(2, #"{"name":"ä + - 1"}"#, isReplaceable: true), event(3))
        journal.strike(places[0])
        #expect(
            try read() == [
                Found(id: "e-2", time: 1002, isReplaceable: true, body: #"{"name":"ä + - 1"}"#),
                Found(id: "e-3", time: 1003, isReplaceable: false, body: "{}"),
            ])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        journal.clear()
        #expect(try read().isEmpty)
    }

    /// `kill -9` or a power failure at any byte of the last line.
    @Test func `a torn last line is cut off, wherever it is torn`() throws {
        let (whole, places) = try write(event(1), event(2, #"{"b":2}"#))
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for length in (places[1].offset + 1)..<whole.size {
            try bytes.prefix(length).write(to: URL(fileURLWithPath: path))
            #expect(try read(isTorn: true).map(\.id) == ["e-1"], "\(length)")
            #expect(try read().map(\.id) == ["e-1"], "it is mended")
            let (journal, _) = try write(event(3))
            #expect(try read().map(\.id) == ["e-1", "e-3"])
            journal.clear()
        }
    }

    @Test(arguments: [
        "nonsense\n", "\n", "+\n", "+e-2 1 u 9 {}\n", "+e-2 x e 2 {}\n", "+e-2 1 x 2 {}\n", "+ 1 e 2 {}\n",
        "+e-2 1 e -2 {}\n", String(repeating: "\0", count: 5000) + "\n", "+e-2 1 e 2  {}\n",
        "+" + String(repeating: "e", count: 500) + " 1 e 2 {}\n",
    ])
    func `a line that is none is left out, and those around it stay`(line: String) throws {
        _ = try write(event(1))
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes += Data(line.utf8)
        try bytes.write(to: URL(fileURLWithPath: path))
        var isTorn = false
        let journal = try WebhookJournal(path, isTorn: &isTorn) { _, _, _, _ in }
        _ = try journal.append([event(3)])
        #expect(isTorn)
        #expect(try read(isTorn: true).map(\.id) == ["e-1", "e-3"])
    }

    @Test func `a body longer than the reader's buffer is found whole`() throws {
        let long = "{" + String(repeating: "x", count: 700_000) + "}"
        _ = try write(event(1), event(2, long), event(3))
        #expect(try read().map(\.body) == ["{}", long, "{}"])
    }

    @Test func `a compacted file has what still waits`() throws {
        let (journal, places) = try write(event(1), event(2, #"{"b":2}"#), event(3), event(4))
        journal.strike(places[0])
        journal.strike(places[2])
        let moved = try #require(journal.compact(keeping: [places[1], places[3]]))
        #expect(moved.map { journal.body($0).map { String(decoding: $0, as: UTF8.self) } } == [#"{"b":2}"#, "{}"])
        _ = try journal.append([event(5)])
        journal.strike(moved[1])
        #expect(try read().map(\.id) == ["e-2", "e-5"])
        #expect(scratch.files == ["a.queue"])
    }

    @Test func `a folder that is none is a fault, and so is a full disk`() throws {
        var isTorn = false
        #expect(throws: WebhookJournal.Fault.self) {
            _ = try WebhookJournal("/nowhere/a.queue", isTorn: &isTorn) { _, _, _, _ in }
        }
        let full = try WebhookJournal("/dev/full", isTorn: &isTorn) { _, _, _, _ in }
        #expect(throws: WebhookJournal.Fault.self) { _ = try full.append([event(1)]) }
    }
}
