import Basics
import Testing

@testable import Admission
@testable import Signalling
@testable import WebServer

@Suite struct SignallingBudgetTests {
    private func budget() -> SignallingBudget { SignallingBudget(messageBytes: 262_144, at: .zero) }

    private func code(_ verdict: SignallingBudget.Verdict?) -> String? {
        switch verdict {
        case .refuse(let error), .end(let error): error.code.rawValue
        case .take, nil: nil
        }
    }

    @Test func `before the join messages are small and few`() {
        var budget = budget()
        let large = budget.received(bytes: 17_000, isInside: false, at: .zero)
        #expect(large == .refuse(SignallingBudget.tooLargeOutside), "what came whole leaves the connection")
        let largest = budget.received(bytes: 16_384, isInside: false, at: .zero)
        #expect(largest == .take)
        let inside = budget.received(bytes: 17_000, isInside: true, at: .zero)
        #expect(inside == .take)
        let verdicts = (0..<100).map { _ in budget.received(bytes: 100, isInside: false, at: .zero) }
        #expect(verdicts.count { $0 == .take } == 28)
        #expect(code(verdicts.last) == "too_fast")
        let later = (1...100).count {
            budget.received(bytes: 100, isInside: false, at: .zero + .milliseconds($0 * 100)) == .take
        }
        #expect(later == 100, "ten a second")
    }

    @Test func `bytes are limited, whatever the size of the messages`() {
        var budget = budget()
        var taken = 0
        for tick in 0..<500
        where budget.received(bytes: 200_000, isInside: true, at: .zero + .milliseconds(tick * 20)) == .take {
            taken += 200_000
        }
        #expect(taken <= 4 * 262_144 + 10 * 65_536)
        #expect(taken >= 1_000_000)
    }

    @Test func `too many unreadable messages end the connection`() {
        var budget = budget()
        let first = (0..<20).map { _ in budget.countBadMessage(at: .zero) }
        #expect(first.allSatisfy { $0 == nil })
        guard case .end(let error)? = budget.countBadMessage(at: .zero) else { Issue.record("goes on"); return }
        #expect(error.code == .tooFast && error.retryAfter == 1)
    }

    @Test func `a connection joins once a second, and ends after five refusals`() {
        var budget = budget()
        let waits = (0..<4).map { _ in budget.join(at: .zero) }
        #expect(waits == [.zero, .zero, .zero, .seconds(1)])
        let ends = (0..<5).map { _ in budget.countFailedJoin() }
        #expect(ends == [false, false, false, false, true])
    }

    @Test func `offers are limited in rate`() {
        var budget = budget()
        let waits = (0..<21).map { _ in budget.offer(at: .zero) }
        #expect(waits.filter { $0 > .zero } == [.milliseconds(500)])
    }
}

@Suite struct JSONOutlineTests {
    private func type(_ text: String) throws -> String? { try JSONOutline(Array(text.utf8), .message).type }

    @Test(arguments: [
        (#"{"type":"offer","sdp":"v=0"}"#, "offer"), (#"{"sdp":"\"type\":\"x\"","type" : "chat"}"#, "chat"),
        (#"{"a":{"type":"x"},"type":"y"}"#, "y"),
        (#"{"text":"type","type":"chat"}"#, "chat"), (#"["type","x"]"#, nil), (#"{"type":7}"#, nil),
        (#"{"type":"o\u0066fer"}"#, nil), ("", nil),
        (#"{"type":{"type":"x"}}"#, nil), (#"[{"type":"x"}]"#, nil), (#"{"a":["type","type"],"type":"z"}"#, "z"),
        (#""type":"x""#, nil),
    ])
    func `the type is that of the outermost object`(text: String, type: String?) throws {
        #expect(try self.type(text) == type)
    }

    @Test func `deep and wide texts are refused at the first excess`() {
        let wide = "[" + String(repeating: "1,", count: 2000) + "1]"
        for text in [String(repeating: "[", count: 50), wide, String(repeating: "{\"a\":", count: 9)] {
            #expect(throws: Refusal.self) { try type(text) }
        }
        #expect(throws: Never.self) {
            try type(#"{"type":"layout","pin":["# + Array(repeating: "\"p\"", count: 100).joined(separator: ",") + "]}")
        }
        // The millionth byte is not read.
        var read = 0
        let endless = AnySequence(
            sequence(first: UInt8(ascii: "[")) { byte in
                read += 1
                return byte
            })
        #expect(throws: Refusal.self) { try JSONOutline(endless, .message) }
        #expect(read < 100)
    }

    @Test func `large messages are offers`() throws {
        let text = String(repeating: "x", count: 70_000)
        #expect(throws: Refusal.self) { try ClientMessage.parse(#"{"type":"chat","text":"\#(text)"}"#) }
        #expect(try ClientMessage.parse(#"{"type":"offer","sdp":"\#(text)"}"#) == .offer(sdp: text))
    }
}
