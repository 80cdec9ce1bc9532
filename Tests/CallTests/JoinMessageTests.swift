import Foundation
import Testing

@testable import Call

@Suite("The join of tessera call")
struct JoinMessageTests {
    private func join(
        _ ticket: CallSession.Ticket? = nil, change: (inout CallOptions) -> Void = { _ in }
    ) throws -> [String: Any] {
        var options = CallOptions(url: "http://localhost:8080", room: "board", name: "Ada")
        change(&options)
        return JSONObject.members(of: Data(try JSONObject.bytes(of: Participant.join(options, name: "Ada 1", ticket))))
    }

    @Test("has the PIN and the token that were given, and nothing of what was not")
    func keys() throws {
        let plain = try join()
        #expect(plain["room"] as? String == "board" && plain["name"] as? String == "Ada 1")
        #expect(plain["pin"] == nil && plain["token"] == nil && plain["resume"] == nil)
        let whole = try join(CallSession.Ticket(id: "p1", secret: "s")) { ($0.pin, $0.token) = ("4711", "a.b.c") }
        #expect(whole["pin"] as? String == "4711" && whole["token"] as? String == "a.b.c")
        #expect((whole["resume"] as? [String: Any])?["id"] as? String == "p1")
    }

    @Test("is nobody's host, also when it comes back")
    func host() throws {
        #expect(try join()["host"] as? Bool == false)
        #expect(try join(CallSession.Ticket(id: "p1", secret: "s"))["host"] as? Bool == false)
    }
}
