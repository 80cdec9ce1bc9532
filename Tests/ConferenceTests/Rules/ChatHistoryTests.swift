import Foundation
import Testing

@testable import Conference

@Suite("ChatHistory")
struct ChatHistoryTests {
    private func message(_ text: String) -> ChatMessage {
        ChatMessage(id: text, from: "a", fromName: "Ann", text: text, at: Date(timeIntervalSince1970: 0))
    }

    @Test("the latest hundred messages are kept, in their order")
    func count() {
        var history = ChatHistory()
        for number in 0..<1000 { history.add(message("\(number)")) }
        #expect(history.messages.map(\.text) == (900..<1000).map(String.init))
    }

    @Test("the messages have at most 64 KiB, and the latest one is always there")
    func bytes() {
        var history = ChatHistory()
        for number in 0..<100 { history.add(message(String(repeating: "\(number % 10)", count: 8192))) }
        #expect(history.messages.count == 7)
        #expect(history.messages.reduce(0) { $0 + $1.text.utf8.count } <= ChatHistory.byteLimit)
        history.add(message("small"))
        #expect(history.messages.count == 8 && history.messages.last?.text == "small")
    }
}
