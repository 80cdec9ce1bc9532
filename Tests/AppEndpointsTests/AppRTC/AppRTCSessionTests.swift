import Basics
import Conference
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct AppRTCSessionTests {
    private let start = Instant.zero + .seconds(100)

    private func seated() -> AppRTCSession {
        var session = AppRTCSession()
        session.accepted(at: start)
        return session
    }

    /// A session whose client has registered.
    private func registered() throws -> AppRTCSession {
        var session = seated()
        #expect(try session.registered() == [])
        return session
    }

    /// A session with media on both ways.
    private func connected() throws -> AppRTCSession {
        var session = try registered()
        #expect(session.answered("v=0") == [.send(.answer(sdp: "v=0"))])
        #expect(session.handleEvent(.connection(true), at: start) == [])
        return session
    }

    @Test func `an answer before the registration waits for it, and only the newest`() throws {
        var session = seated()
        #expect(session.answered("first") == [])
        #expect(session.answered("second") == [])
        #expect(try session.registered() == [.send(.answer(sdp: "second"))])
        #expect(session.answered("third") == [.send(.answer(sdp: "third"))])
    }

    @Test func `who does not register within ten seconds leaves`() throws {
        var session = seated()
        #expect(session.deadline == start + .seconds(10))
        #expect(session.handleTimeout(at: start + .milliseconds(9999)) == [])
        #expect(session.handleTimeout(at: start + .seconds(10)) == [.leave(.timeout), .end])
        #expect(session.isOver && session.deadline == nil)
        #expect(throws: AppRTCFault.noSeat) { try session.registered() }
    }

    @Test func `who registers in time stays without a deadline`() throws {
        var session = seated()
        #expect(try session.registered() == [])
        #expect(session.deadline == nil)
        #expect(session.handleTimeout(at: start + .seconds(3600)) == [])
        #expect(throws: AppRTCFault.duplicatedRegistration) { try session.registered() }
    }

    @Test func `media that goes on keeps the seat for ten seconds without WebSocket`() throws {
        var session = try connected()
        let lost = start + .seconds(60)
        #expect(session.socketClosed(at: lost) == [])
        #expect(session.handleTimeout(at: lost + .milliseconds(9999)) == [])
        #expect(session.handleTimeout(at: lost + .seconds(10)) == [.leave(.timeout), .end])
    }

    @Test func `a client may register again within these ten seconds`() throws {
        var session = try connected()
        #expect(session.socketClosed(at: start) == [])
        #expect(session.answered("again") == [])
        #expect(try session.registered() == [.send(.answer(sdp: "again"))])
        #expect(session.deadline == nil)
    }

    @Test(arguments: [true, false])
    func `a client without WebSocket and media is gone at once`(mediaEndsFirst: Bool) throws {
        var session = try connected()
        if mediaEndsFirst {
            #expect(session.handleEvent(.connection(false), at: start) == [])
            #expect(session.socketClosed(at: start) == [.leave(.left), .end])
        } else {
            #expect(session.socketClosed(at: start) == [])
            #expect(session.handleEvent(.connection(false), at: start) == [.leave(.left), .end])
        }
    }

    @Test func `a client that never offered is gone with its WebSocket`() throws {
        var session = try registered()
        #expect(session.socketClosed(at: start) == [.leave(.left), .end])
    }

    @Test func `a client whose media is being set up keeps its seat`() throws {
        var session = try registered()
        #expect(session.answered("v=0").count == 1)
        #expect(session.socketClosed(at: start) == [])
        #expect(session.deadline == start + .seconds(10))
    }

    @Test func `media that stays away ends the call, and media that comes back does not`() throws {
        var session = try connected()
        let lost = start + .seconds(5)
        #expect(session.handleEvent(.connection(false), at: lost) == [])
        #expect(session.deadline == lost + .seconds(30))
        #expect(session.handleEvent(.connection(true), at: lost + .seconds(20)) == [])
        #expect(session.deadline == nil)
        #expect(session.handleEvent(.connection(false), at: lost + .seconds(40)) == [])
        #expect(
            session.handleTimeout(at: lost + .seconds(70)) == [
                .leave(.timeout), .send(.bye), .close(.normal, reason: "timeout"), .end,
            ])
    }

    @Test func `a client that offers again after its media was lost gets the usual time`() throws {
        var session = try connected()
        #expect(session.handleEvent(.connection(false), at: start) == [])
        #expect(session.answered("again") == [.send(.answer(sdp: "again"))])
        #expect(session.deadline == nil)
    }

    @Test func `a client that leaves gets no bye`() throws {
        var session = try connected()
        #expect(session.left() == [.leave(.left), .close(.normal, reason: "left"), .end])
        // `/leave`, `bye`, DELETE and the end of the WebSocket all come.
        #expect(session.left() == [])
        #expect(session.socketClosed(at: start) == [])
        #expect(session.answered("late") == [])
        #expect(session.handleEvent(.left(.left), at: start) == [])
    }

    @Test(arguments: [
        (LeaveReason.removed, AppRTCSession.CloseCode.normal), (.roomEnded, .normal), (.overBudget, .normal),
        (.draining, .goingAway), (.moved, .goingAway),
    ])
    func `the end from the conference is bye and the end of the WebSocket`(
        reason: LeaveReason, code: AppRTCSession.CloseCode
    ) throws {
        var session = try connected()
        #expect(
            session.handleEvent(.left(reason), at: start) == [
                .send(.bye), .close(code, reason: reason.rawValue), .end,
            ])
        #expect(throws: AppRTCFault.noSeat) { try session.registered() }
    }

    @Test func `a seat that ends before the join is complete ends the session`() {
        var session = AppRTCSession()
        #expect(session.handleEvent(.left(.removed), at: start) == [.end])
        session.accepted(at: start)
        #expect(session.isOver && session.deadline == nil)
    }

    @Test func `events that the clients do not know change nothing`() throws {
        var session = try connected()
        for event: ParticipantEvent in [
            .speaker("p1"), .layout(ShownLayout(name: "grid")), .recording(nil), .role(.moderator),
        ] {
            #expect(session.handleEvent(event, at: start) == [])
        }
    }
}
