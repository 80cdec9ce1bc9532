import Basics
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct EngineSessionTests {
    private let start = Instant.zero + .seconds(100)
    private let hello = EnginePacket(.message, "2[\"a\"]")

    private func after(_ time: Duration) -> Instant { start + time }

    @Test func `a poll waits for a message, and a message for a poll`() {
        var session = EngineSession(at: start)
        #expect(session.polled(1, at: start).isEmpty)
        #expect(session.send([hello]) == [.answer(1, [hello])])
        #expect(session.send([hello]).isEmpty && session.send([EnginePacket(.message, "x")]).isEmpty)
        #expect(session.polled(2, at: start) == [.answer(2, [hello, EnginePacket(.message, "x")])])
        #expect(session.polled(3, at: start).isEmpty)
    }

    @Test func `the client pings, and a poll brings the answer`() {
        var session = EngineSession(at: start)
        #expect(session.polled(1, at: start).isEmpty)
        #expect(session.posted([EnginePacket(.ping, "x")], at: start) == [.answer(1, [EnginePacket(.pong, "x")])])
    }

    @Test func `a poll is held for 25 seconds at most`() {
        var session = EngineSession(at: start)
        _ = session.polled(1, at: start)
        #expect(session.deadline == after(.seconds(25)))
        #expect(session.timePassed(at: after(.seconds(24))).isEmpty)
        #expect(session.timePassed(at: after(.seconds(25))) == [.answer(1, [EnginePacket(.noop)])])
    }

    @Test func `two polls at once end the session`() {
        var session = EngineSession(at: start)
        _ = session.polled(1, at: start)
        #expect(
            session.polled(2, at: start) == [.refuse(2), .answer(1, [EnginePacket(.close)]), .ended(.overlap)])
        #expect(session.isOver && session.polled(3, at: start) == [.refuse(3)])
    }

    @Test func `silence of 85 seconds ends the session, each packet begins it anew`() {
        var session = EngineSession(at: start)
        #expect(session.deadline == after(.seconds(85)))
        _ = session.posted([EnginePacket(.ping)], at: after(.seconds(80)))
        #expect(session.timePassed(at: after(.seconds(164))).isEmpty)
        #expect(session.timePassed(at: after(.seconds(165))) == [.ended(.silent)])
        #expect(session.deadline == .distantFuture && session.timePassed(at: after(.seconds(999))).isEmpty)
    }

    @Test func `an upgrade completes the waiting poll, and the queue moves to the WebSocket`() {
        var session = EngineSession(at: start)
        _ = session.polled(1, at: start)
        #expect(session.opened(7, at: start).isEmpty)
        #expect(
            session.received(EnginePacket(.ping, "probe"), on: 7, at: start)
                == [.send(EnginePacket(.pong, "probe"), 7), .answer(1, [EnginePacket(.noop)])])
        #expect(session.send([hello]).isEmpty, "the client has paused polling")
        #expect(session.received(EnginePacket(.upgrade), on: 7, at: start) == [.send(hello, 7)])
        #expect(session.send([hello]) == [.send(hello, 7)])
        #expect(session.polled(2, at: start) == [.refuse(2)])
        #expect(session.closed(7) == [.close(7), .ended(.transport)])
    }

    @Test func `a poll that comes late in a probe returns soon`() {
        var session = EngineSession(at: start)
        _ = session.opened(7, at: start)
        _ = session.received(EnginePacket(.ping, "probe"), on: 7, at: start)
        #expect(session.polled(1, at: start).isEmpty)
        #expect(session.timePassed(at: after(.milliseconds(100))) == [.answer(1, [EnginePacket(.noop)])])
        _ = session.polled(2, at: after(.milliseconds(100)))
        #expect(session.received(EnginePacket(.upgrade), on: 7, at: start) == [.answer(2, [EnginePacket(.noop)])])
    }

    @Test func `a probe that fails leaves the session polling`() {
        var session = EngineSession(at: start)
        _ = session.opened(7, at: start)
        #expect(session.opened(8, at: start) == [.close(8)], "one probe at a time")
        #expect(session.received(EnginePacket(.upgrade), on: 7, at: start) == [.close(7)], "no probe came before")
        _ = session.opened(9, at: start)
        #expect(session.timePassed(at: after(.seconds(10))) == [.close(9)])
        _ = session.opened(10, at: start)
        #expect(session.closed(10).isEmpty)
        #expect(session.polled(1, at: start).isEmpty && session.send([hello]) == [.answer(1, [hello])])
    }

    @Test func `messages are delivered, from either transport, and close ends`() {
        var session = EngineSession(on: 0, at: start)
        let file = BinaryMessage([1, 2])
        #expect(session.received(hello, on: 0, at: start) == [.deliver(.text("2[\"a\"]"))])
        #expect(session.received(EnginePacket(file), on: 0, at: start) == [.deliver(.binary(file))])
        #expect(session.received(hello, on: 99, at: start).isEmpty, "a frame of no known WebSocket")
        #expect(session.posted([EnginePacket(.close), hello], at: start).last == .ended(.closed))
        #expect(session.received(hello, on: 0, at: start).isEmpty)
    }

    @Test func `a client that never polls has bounded packets and bytes`() {
        var session = EngineSession(at: start)
        for _ in 0..<EngineSession.maxPackets { #expect(session.send([hello]).isEmpty) }
        #expect(session.send([hello]) == [.ended(.tooSlow)] && session.queuedBytes == 0)
        var heavy = EngineSession(at: start)
        let picture = EnginePacket(BinaryMessage([UInt8](repeating: 0, count: 8 << 20)))
        for _ in 0..<2 { #expect(heavy.send([picture]).isEmpty) }
        #expect(heavy.send([picture]) == [.ended(.tooSlow)])
    }

    @Test(arguments: [0, 5, 64]) func `the answer to a ping has its short text`(bytes: Int) {
        let text = String(repeating: "p", count: bytes)
        var session = EngineSession(at: start)
        _ = session.polled(1, at: start)
        #expect(session.posted([EnginePacket(.ping, text)], at: start) == [.answer(1, [EnginePacket(.pong, text)])])
    }

    @Test func `a long ping ends the session, or its probe`() {
        let long = EnginePacket(.ping, String(repeating: "p", count: 65))
        var session = EngineSession(at: start)
        #expect(session.posted([long], at: start) == [.ended(.malformed)] && session.queuedBytes == 0)
        var probing = EngineSession(at: start)
        _ = probing.opened(7, at: start)
        #expect(probing.received(long, on: 7, at: start) == [.close(7)])
    }

    @Test func `a client that pings and never polls keeps four answers`() {
        var session = EngineSession(at: start)
        for _ in 0..<200 { _ = session.posted([EnginePacket(.ping, String(repeating: "p", count: 64))], at: start) }
        #expect(session.queuedPackets == EngineSession.maxPongs && session.queuedBytes <= 4 * 65 && !session.isOver)
        guard case .answer(1, let packets)? = session.polled(1, at: start).first else {
            Issue.record("no answer")
            return
        }
        #expect(packets.count == 4 && session.posted([EnginePacket(.ping)], at: start).isEmpty)
    }
}
