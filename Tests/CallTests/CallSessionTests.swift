import Basics
import Testing

@testable import Call

/// A participant, with the time in its own hands and half of each random time.
private struct Simulation {
    var now = Instant(nanoseconds: 1_000_000_000)
    var session: CallSession
    var media: Instant?
    let seat = CallSession.Ticket(id: "p1", secret: "t1")
    let gaps = Changeover.Gaps(picture: .milliseconds(120), sound: .milliseconds(40))

    init() { session = CallSession(at: now, random: { 0.5 }) }

    /// Lets time pass in the driver's steps; media comes meanwhile unless it is said to have stopped.
    mutating func wait(_ time: Duration, media flows: Bool = true, messages: Int? = nil) -> [CallSession.Action] {
        let end = now + time
        var actions: [CallSession.Action] = []
        while now < end {
            now += .milliseconds(50)
            if flows { media = now }
            if let messages { session.heard(messages, at: now) }
            actions += session.advance(to: now, media: media)
        }
        return actions
    }

    /// In the call by attachment 0 and leg 1.
    static func inCall() -> Simulation {
        var one = Simulation()
        #expect(one.session.start() == [.open(attachment: 0, nil)])
        #expect(
            one.session.joined(0, one.seat, isFresh: true, at: one.now) == [.offer(attachment: 0, leg: 1)])
        #expect(one.session.flowing(leg: 1, nil, at: one.now).isEmpty)
        return one
    }
}

@Suite("A participant's session")
struct CallSessionTests {
    @Test("a lost connection comes back with the ticket, and its media goes on")
    func resumes() {
        var call = Simulation.inCall()
        #expect(call.session.closed(0, nil, at: call.now).last == .drop(attachment: 0))
        #expect(call.wait(.milliseconds(100)).isEmpty)
        // Half of 300 ms.
        #expect(call.wait(.milliseconds(50)) == [.open(attachment: 1, call.seat)])
        #expect(
            call.session.joined(1, call.seat, isFresh: false, at: call.now)
                == [.note("resumed"), .tellState(attachment: 1)],
            "its camera may have stopped or begun meanwhile")
    }

    @Test("a server that knows only the ticket gets an offer with new media")
    func joinsAnew() {
        var call = Simulation.inCall()
        #expect(call.session.left(0, "moved", at: call.now) == [.note("lost: moved"), .drop(attachment: 0)])
        #expect(call.wait(.milliseconds(250)) == [.open(attachment: 1, call.seat)])
        let renewed = CallSession.Ticket(id: "p1", secret: "t2")
        #expect(
            call.session.joined(1, renewed, isFresh: true, at: call.now)
                == [.close(leg: 1), .note("joined again"), .offer(attachment: 1, leg: 2)])
        #expect(
            call.session.flowing(leg: 2, call.gaps, at: call.now)
                == [.note("back: picture gap 120 ms, sound gap 40 ms")])
        // The next one is with the ticket that was given last.
        _ = call.session.closed(1, nil, at: call.now)
        #expect(call.wait(.milliseconds(150)) == [.open(attachment: 2, renewed)])
    }

    @Test("who has to be let in waits without media for as long as it takes, at first and again")
    func waits() {
        let words = CallSession.Action.say("waits to be let in by a moderator, and sends nothing until then")
        var call = Simulation()
        _ = call.session.start()
        #expect(call.session.waits(0) == [words])
        // The server decides how long one may wait.
        #expect(call.wait(.seconds(1700), media: false, messages: 0).isEmpty)
        #expect(call.session.joined(0, call.seat, isFresh: true, at: call.now) == [.offer(attachment: 0, leg: 1)])
        #expect(call.session.flowing(leg: 1, nil, at: call.now).isEmpty)
        // The server is another one, which does not know the seat.
        _ = call.session.closed(0, nil, at: call.now)
        #expect(call.wait(.milliseconds(150)) == [.open(attachment: 1, call.seat)])
        #expect(
            call.session.refused(
                1, code: "unauthorized", "no seat", isFatal: false, retryAfter: nil, at: call.now
            ).first == .drop(attachment: 1))
        #expect(call.wait(.milliseconds(600)).last == .open(attachment: 2, nil))
        #expect(call.session.waits(2) == [.close(leg: 1), words])
        #expect(call.wait(.seconds(1700), media: false, messages: 2).isEmpty)
        let seat = CallSession.Ticket(id: "p2", secret: "t9")
        #expect(
            call.session.joined(2, seat, isFresh: true, at: call.now)
                == [.note("joined again"), .offer(attachment: 2, leg: 2)])
    }

    @Test("who waits to be let in comes back to wait, and gives up after a minute without a server")
    func waitsOn() {
        var call = Simulation()
        _ = call.session.start()
        _ = call.session.waits(0)
        #expect(
            call.session.closed(0, "gone", at: call.now) == [.note("lost: gone"), .drop(attachment: 0)])
        #expect(call.wait(.milliseconds(150)) == [.open(attachment: 1, nil)])
        // The server has been started again and waits for a moderator, too.
        #expect(call.session.waits(1).count == 1)
        _ = call.session.closed(1, "gone", at: call.now)
        #expect(call.wait(.milliseconds(150)) == [.open(attachment: 2, nil)])
        let away = call.wait(.seconds(61), media: false)
        #expect(away.contains(.note("no answer to the join")))
        #expect(away.last == .end(failure: "no way back into the call for 60 s"))
    }

    @Test("who waits to be let in asks a silent server, and comes back to wait where it says nothing")
    func doubtsWhileWaiting() {
        var call = Simulation()
        _ = call.session.start()
        _ = call.session.waits(0)
        #expect(call.wait(.milliseconds(4050), media: false) == [.ping(attachment: 0)])
        // An older server takes no ping, which is as good an answer.
        call.session.heard(0, at: call.now)
        #expect(
            call.session.refused(
                0, code: "bad_message", "wait until you are let in", isFatal: false, retryAfter: nil, at: call.now
            ).isEmpty)
        #expect(call.wait(.milliseconds(4050), media: false) == [.ping(attachment: 0)])
        #expect(call.wait(.milliseconds(1950), media: false).isEmpty)
        #expect(call.wait(.milliseconds(50), media: false) == [.note("lost: no sign of life"), .drop(attachment: 0)])
        #expect(call.wait(.milliseconds(150), media: false) == [.open(attachment: 1, nil)])
        #expect(call.session.waits(1).count == 1)
    }

    @Test("who is refused while it waits ends with the server's words")
    func refusedWhileWaiting() {
        var call = Simulation()
        _ = call.session.start()
        _ = call.session.waits(0)
        #expect(
            call.session.refused(0, code: "refused", "Not now.", isFatal: true, retryAfter: nil, at: call.now)
                == [.end(failure: "Not now. (refused)")])
    }

    @Test("a move makes the second connection before the first one ends, which lingers")
    func moves() {
        var call = Simulation.inCall()
        #expect(call.session.moving(0, within: 10, at: call.now) == [.note("moving within 10 s")])
        // Once is enough.
        #expect(call.session.moving(0, within: 10, at: call.now).isEmpty)
        #expect(call.wait(.milliseconds(250)) == [.open(attachment: 1, call.seat)])
        #expect(call.session.joined(1, call.seat, isFresh: true, at: call.now) == [.offer(attachment: 1, leg: 2)])
        #expect(call.session.isCurrent(0))
        #expect(
            call.session.flowing(leg: 2, call.gaps, at: call.now)
                == [.note("moved: picture gap 120 ms, sound gap 40 ms")])
        #expect(call.session.isCurrent(1))
        #expect(call.wait(.milliseconds(1450)).isEmpty)
        // What the old one says does not matter any more.
        #expect(call.session.left(0, "moved", at: call.now).isEmpty)
        #expect(call.session.closed(0, nil, at: call.now).isEmpty)
        #expect(call.wait(.milliseconds(50)) == [.leave(attachment: 0), .close(leg: 1)])
        // And another move.
        #expect(!call.session.moving(1, within: 3, at: call.now).isEmpty)
        #expect(call.wait(.milliseconds(150)) == [.open(attachment: 2, call.seat)])
    }

    @Test("a move that does not succeed leaves the call as it is, until the old server ends it")
    func moveFails() {
        var call = Simulation.inCall()
        _ = call.session.moving(0, within: 2, at: call.now)
        _ = call.wait(.milliseconds(100))
        #expect(call.session.joined(1, call.seat, isFresh: true, at: call.now) == [.offer(attachment: 1, leg: 2)])
        let actions = call.wait(.seconds(4), messages: 0)
        #expect(actions.contains(.drop(attachment: 1)) && actions.contains(.close(leg: 2)))
        #expect(call.session.isCurrent(0))
        #expect(call.session.left(0, "moved", at: call.now).last == .drop(attachment: 0))
        #expect(call.wait(.milliseconds(250)) == [.open(attachment: 2, call.seat)])
        // The other server may have media of the attempt that failed; the leg of the old server is not that.
        #expect(
            call.session.joined(2, call.seat, isFresh: false, at: call.now)
                == [.close(leg: 1), .note("joined again"), .offer(attachment: 2, leg: 3)])
    }

    @Test(
        "a refused ticket ends the move, and a busy server is asked again", arguments: ["unauthorized", "overloaded"])
    func moveRefused(code: String) {
        var call = Simulation.inCall()
        _ = call.session.moving(0, within: 20, at: call.now)
        _ = call.wait(.milliseconds(250))
        let actions = call.session.refused(
            1, code: code, "no", isFatal: false, retryAfter: code == "overloaded" ? 2 : nil, at: call.now)
        if code == "overloaded" {
            #expect(actions == [.drop(attachment: 1)])
            // Two seconds, and half of that.
            #expect(call.wait(.milliseconds(2950), messages: 0).isEmpty)
            #expect(call.wait(.milliseconds(50), messages: 0) == [.open(attachment: 2, call.seat)])
        } else {
            #expect(actions.first == .drop(attachment: 1))
            #expect(call.wait(.seconds(3), messages: 0).isEmpty)
        }
        #expect(call.session.isCurrent(0))
    }

    @Test("the old server ends before the move is done: the second connection goes on alone")
    func endsInTheMiddle() {
        var call = Simulation.inCall()
        _ = call.session.moving(0, within: 5, at: call.now)
        _ = call.wait(.milliseconds(250))
        _ = call.session.joined(1, call.seat, isFresh: true, at: call.now)
        let actions = call.session.left(0, "moved", at: call.now)
        #expect(actions.prefix(2) == [.drop(attachment: 0), .close(leg: 1)])
        #expect(call.session.isCurrent(1))
        #expect(
            call.session.flowing(leg: 2, call.gaps, at: call.now)
                == [.note("back: picture gap 120 ms, sound gap 40 ms")])
    }

    @Test("a server that has the seat still gives it to the second connection, with the media of the first")
    func notMoved() {
        var call = Simulation.inCall()
        _ = call.session.moving(0, within: 5, at: call.now)
        _ = call.wait(.milliseconds(250))
        #expect(call.session.left(0, "replaced", at: call.now).isEmpty)
        #expect(
            call.session.joined(1, call.seat, isFresh: false, at: call.now)
                == [.drop(attachment: 0), .note("not moved")])
        #expect(call.wait(.seconds(8), messages: 1).isEmpty)
    }

    @Test("without media and messages the server is asked, and left where it says nothing")
    func doubts() {
        var call = Simulation.inCall()
        #expect(call.wait(.seconds(10), messages: 0).isEmpty)
        // Media alone is no sign that the server hears, and is not doubted as soon.
        #expect(call.wait(.milliseconds(4050)) == [.ping(attachment: 0)])
        call.session.heard(0, at: call.now)
        #expect(call.wait(.milliseconds(2500), media: false).isEmpty)
        #expect(call.wait(.milliseconds(50), media: false) == [.ping(attachment: 0)])
        #expect(call.wait(.milliseconds(1950), media: false).isEmpty)
        #expect(call.wait(.milliseconds(50), media: false) == [.note("lost: no sign of life"), .drop(attachment: 0)])
        #expect(call.wait(.milliseconds(150), media: false) == [.open(attachment: 1, call.seat)])
    }

    @Test("an older server answers a ping with an error, which is not told")
    func olderServer() {
        var call = Simulation.inCall()
        #expect(
            call.session.refused(
                0, code: "bad_message", "there is no message type ping; allowed are join", isFatal: false,
                retryAfter: nil, at: call.now
            ).isEmpty)
    }

    @Test("the ways back grow longer, and end after a minute")
    func givesUp() {
        var call = Simulation.inCall()
        _ = call.session.closed(0, nil, at: call.now)
        var opened: [Instant] = []
        let start = call.now
        for _ in 0..<2000 {
            let actions = call.wait(.milliseconds(50), media: false)
            for action in actions {
                guard case .open(let attachment, let ticket) = action else { continue }
                #expect(ticket == call.seat)
                opened.append(call.now)
                _ = call.session.closed(attachment, "refused", at: call.now)
            }
            if case .end(let failure)? = actions.last {
                #expect(failure?.contains("60 s") == true)
                #expect(call.now - start < .milliseconds(60_200))
                let waits = zip(opened.dropFirst(), opened).map { $0.0 - $0.1 }
                // Half of 1, 2, 4 and then 5 s.
                #expect(waits.prefix(3) == [.milliseconds(500), .seconds(1), .seconds(2)])
                #expect(waits.dropFirst(3).allSatisfy { $0 == .milliseconds(2500) })
                return
            }
        }
        Issue.record("it never ended")
    }

    @Test("who was never in the call is told why at once, and tries again only where the server is busy")
    func neverIn() {
        var call = Simulation()
        _ = call.session.start()
        #expect(call.session.closed(0, "no answer", at: call.now) == [.end(failure: "no answer")])
        call = Simulation()
        _ = call.session.start()
        for number in 0..<9 {
            let actions = call.session.refused(
                number, code: "too_fast", "wait", isFatal: false, retryAfter: 1, at: call.now)
            #expect(actions == [.drop(attachment: number), .say("wait (too_fast); trying again in 2 s")])
            #expect(call.wait(.milliseconds(1500)) == [.open(attachment: number + 1, nil)])
        }
        #expect(
            call.session.refused(9, code: "too_fast", "wait", isFatal: false, retryAfter: 1, at: call.now)
                == [.end(failure: "wait (too_fast)")])
    }

    @Test("who lacks a PIN or a token is told by which option to give it")
    func advised() {
        let codes = [("pin_required", "--pin"), ("wrong_pin", "--pin"), ("unauthorized", "--token")]
        for (code, option) in codes {
            var call = Simulation()
            _ = call.session.start()
            let actions = call.session.refused(0, code: code, "No.", isFatal: true, retryAfter: nil, at: call.now)
            guard case .end(let words?)? = actions.last else {
                Issue.record("\(code) did not end the call")
                continue
            }
            #expect(words.hasPrefix("No. (\(code)): give ") && words.hasSuffix(option))
        }
    }

    @Test("media that ends in a living seat is offered anew, unless the server ends the call")
    func mediaEnds() {
        var call = Simulation.inCall()
        #expect(call.session.ended(leg: 1, "closed", at: call.now) == [.note("media ended: closed")])
        #expect(call.wait(.milliseconds(600), messages: 0).isEmpty)
        #expect(call.wait(.milliseconds(50), messages: 0) == [.close(leg: 1), .offer(attachment: 0, leg: 2)])
        #expect(
            call.session.left(0, "room_ended", at: call.now)
                == [.say("the server ended the call: room_ended"), .end(failure: nil)])
        #expect(call.wait(.seconds(5), media: false).isEmpty)
    }
}
