import Foundation
import Testing

@testable import Cluster

@Suite struct WatchLinesTests {
    @Test func `parts of any size become lines`() async throws {
        let lines = WatchLines()
        for part in ["{\"a\"", ":1}\n{\"b\":2}\n\n", "{", "}\n"] { try lines.receive(Array(part.utf8)) }
        lines.finish()
        var all: [String] = []
        for try await line in lines.stream { all.append(String(decoding: line, as: UTF8.self)) }
        #expect(all == [#"{"a":1}"#, #"{"b":2}"#, "{}"])
    }

    @Test func `a line without end is refused`() throws {
        let (lines, part) = (WatchLines(), [UInt8](repeating: 32, count: 1 << 20))
        for _ in 0..<WatchLines.lineBytes >> 20 { try lines.receive(part) }
        #expect(throws: WatchLines.Fault.lineTooLong) { try lines.receive(part) }
    }

    @Test func `a reader that is too slow loses the watch`() throws {
        let (lines, line) = (WatchLines(), [UInt8](repeating: 32, count: 1 << 20) + [10])
        for _ in 0..<WatchLines.waitingBytes >> 20 - 1 { try lines.receive(line) }
        lines.taken(2 << 20)
        try lines.receive(line)
        try lines.receive(line)
        #expect(throws: WatchLines.Fault.tooSlow) { for _ in 0..<3 { try lines.receive(line) } }
    }

    @Test func `short lines that wait count with what they take`() throws {
        let (lines, part) = (WatchLines(), Array(String(repeating: "x\n", count: 1 << 16).utf8))
        #expect(throws: WatchLines.Fault.tooSlow) { for _ in 0..<16 { try lines.receive(part) } }
    }
}
