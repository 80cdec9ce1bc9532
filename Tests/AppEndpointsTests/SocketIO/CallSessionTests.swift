import Basics
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct CallSessionTests {
    private let start = Instant.zero + .seconds(100)

    private func after(_ milliseconds: Int) -> Instant { start + .milliseconds(milliseconds) }

    /// A call whose seat is there.
    private func inside() -> (session: CallSession, call: Int) {
        var session = CallSession()
        guard case .join(_, let call)? = session.join("r").first else { return (session, -1) }
        _ = session.joined(call, at: start)
        return (session, call)
    }

    @Test func `a join takes a seat, then the client learns its only peer`() {
        var session = CallSession()
        #expect(session.join("r") == [.join(room: "r", call: 1)])
        #expect(session.join("r").isEmpty, "the seat is on its way")
        #expect(session.joined(0, at: start) == nil)
        #expect(session.joined(1, at: start) == [.peers])
        #expect(session.join("r") == [.peers] && session.isInside && session.room == "r")
    }

    @Test func `another room ends the call of the first`() {
        var (session, call) = inside()
        #expect(session.join("s") == [.leave, .join(room: "s", call: call + 1)])
        #expect(session.ended(call).isEmpty, "the first seat's end concerns the new call no more")
        #expect(session.joined(call, at: start) == nil)
    }

    @Test func `a refused join closes the client's call`() {
        var session = CallSession()
        _ = session.join("r")
        #expect(session.refused(1) == [.remove] && session.room == nil)
        #expect(session.refused(1).isEmpty)
    }

    @Test func `a seat for a call that is closed meanwhile is left`() {
        var session = CallSession()
        _ = session.join("r")
        #expect(session.close() == [.giveUp])
        #expect(session.joined(1, at: start) == nil)
    }

    @Test func `of a burst only the newest offer is answered, 300 ms after it`() {
        var (session, call) = inside()
        session.offered("a", at: start)
        session.offered("b", at: after(100))
        session.offered("c", at: after(200))
        #expect(session.deadline == after(500) && session.timePassed(at: after(499)).isEmpty)
        #expect(session.timePassed(at: after(500)) == [.offer("c", call: call)])
        #expect(session.timePassed(at: after(9999)).isEmpty)
        #expect(session.answered("answer", call) == [.answer("answer")])
        #expect(session.answered("answer", call).isEmpty, "never two answers for one offer")
    }

    @Test func `a burst without an end is answered after a second`() {
        var (session, call) = inside()
        for number in 0...20 { session.offered("\(number)", at: after(number * 100)) }
        #expect(session.deadline == after(1000))
        #expect(session.timePassed(at: after(1000)) == [.offer("20", call: call)])
    }

    @Test func `an answer to an offer that is not the newest any more is dropped`() {
        var (session, call) = inside()
        session.offered("a", at: start)
        _ = session.timePassed(at: after(300))
        session.offered("b", at: after(310))
        #expect(session.timePassed(at: after(999)).isEmpty, "one offer at a time")
        #expect(session.answered("old", call).isEmpty)
        #expect(session.timePassed(at: after(1000)) == [.offer("b", call: call)])
        #expect(session.answered("new", call) == [.answer("new")])
    }

    @Test func `an offer that comes twice is answered once`() {
        var (session, call) = inside()
        session.offered("a", at: start)
        _ = session.timePassed(at: after(300))
        session.offered("a", at: after(400))
        _ = session.answered("answer", call)
        session.offered("a", at: after(500))
        #expect(session.timePassed(at: after(5000)).isEmpty)
    }

    @Test func `candidates wait for the answer, at most 64 of them`() {
        var (session, call) = inside()
        for number in 0..<100 { #expect(session.candidate("\(number)").isEmpty) }
        session.offered("a", at: start)
        _ = session.timePassed(at: after(300))
        #expect(session.candidate("late").isEmpty)
        let actions = session.answered("answer", call)
        #expect(actions.count == 65 && actions[63] == .candidate("63") && actions[64] == .answer("answer"))
        #expect(session.candidate("x") == [.candidate("x")])
    }

    @Test func `an offer that cannot be answered ends the call, unless a newer one waits`() {
        var (session, call) = inside()
        session.offered("a", at: start)
        _ = session.timePassed(at: after(300))
        session.offered("b", at: after(310))
        #expect(session.failed(call).isEmpty)
        _ = session.timePassed(at: after(700))
        #expect(session.failed(call) == [.leave, .remove])
    }

    @Test func `who joins and offers nothing leaves after 30 seconds`() {
        var (session, _) = inside()
        #expect(session.timePassed(at: after(29_999)).isEmpty)
        #expect(session.timePassed(at: after(30_000)) == [.leave, .remove])
        #expect(session.deadline == .distantFuture)
    }

    @Test func `the end of the seat closes the client's call, its own end does not`() {
        var (session, call) = inside()
        #expect(session.ended(call) == [.remove])
        #expect(session.ended(call).isEmpty)
        var (other, second) = inside()
        #expect(other.close() == [.leave] && other.ended(second).isEmpty)
    }

    @Test func `outside of a call nothing has an effect`() {
        var session = CallSession()
        session.offered("a", at: start)
        #expect(session.candidate("c").isEmpty && session.close().isEmpty)
        #expect(session.timePassed(at: after(99_999)).isEmpty)
        #expect(session.answered("x", 0).isEmpty && session.failed(0).isEmpty)
    }
}

@Suite struct CallBookTests {
    private func ringing() -> CallBook {
        var book = CallBook()
        #expect(book.ring("R", from: "alice", session: "a1", to: "bobby", at: .zero) == true)
        return book
    }

    @Test func `the last one of two ends, too`() {
        var book = ringing()
        book.joined("R", session: "a1")
        book.joined("R", session: "b1")
        #expect(book.left("R", session: "b1") == [.end(session: "a1")])
        #expect(book.left("R", session: "a1").isEmpty && book.count == 0)
    }

    @Test func `of three two go on`() {
        var book = ringing()
        for session in ["a1", "b1", "c1"] { book.joined("R", session: session) }
        #expect(book.left("R", session: "b1").isEmpty)
        #expect(book.left("R", session: "a1") == [.end(session: "c1")])
    }

    @Test func `a caller who gives up ends the ringing`() {
        var book = ringing()
        book.joined("R", session: "a1")
        #expect(book.left("R", session: "a1") == [.stopRinging(user: "bobby")])
        var other = ringing()
        #expect(other.gone(session: "x").isEmpty && other.gone(session: "a1") == [.stopRinging(user: "bobby")])
        #expect(other.count == 0)
    }

    @Test func `the callee refuses, and the caller can be inside or not`() {
        var book = ringing()
        let told = book.cancel("R", by: "bobby", session: "b1")
        #expect(told?.sessions == ["a1"] && told?.users == ["bobby"])
        let again = book.cancel("R", by: "bobby", session: "b1")
        #expect(again == nil)
    }

    @Test func `strangers end no call`() {
        var book = ringing()
        let told = book.cancel("R", by: "mallory", session: "m1")
        #expect(told == nil && book.count == 1)
    }

    @Test func `calls are limited, and those that nobody joined make room`() {
        var book = CallBook()
        for number in 0..<CallBook.maxCalls {
            #expect(book.ring("\(number)", from: "a", session: "a1", to: "b", at: .zero) == true)
        }
        #expect(book.ring("more", from: "a", session: "a1", to: "b", at: .zero + .seconds(1)) == false)
        #expect(book.ring("more", from: "a", session: "a1", to: "b", at: .zero + .seconds(121)) == true)
        #expect(book.count == 1)
    }
}
