import Basics
import Conference
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct RawTCPSessionTests {
    /// A session in simulated time, whose frames are collected as a socket would send them.
    private struct Run {
        var session = RawTCPSession(sdpLimit: 1000, at: .zero)
        var now = Instant.zero
        var sent: [(at: Duration, type: String)] = []
        var actions: [RawTCPSession.Action] = []

        mutating func flush() {
            while let frame = session.nextFrame(at: now) { sent.append((now - .zero, type(frame))) }
        }

        /// Lets time pass, from deadline to deadline.
        mutating func pass(_ time: Duration) {
            let end = now + time
            flush()
            while let next = session.deadline, next <= end {
                now = max(now, next)
                actions += session.advance(to: now)
                let before = sent.count
                flush()
                if sent.count == before, let again = session.deadline, again <= now { break }
            }
            now = end
        }

        mutating func take(_ message: RawTCPMessage) {
            session.heardBytes(at: now)
            actions += session.received(message, at: now)
        }

        mutating func login() {
            take(.login(.init()))
            actions += session.joined(as: 7, isAgain: false, at: now)
        }

        mutating func offer() { actions += session.offered(RawTCPReply.offer(sdp: "v=0").json(to: 7), at: now) }

        private func type(_ frame: [UInt8]) -> String {
            var reader = RawTCPFrameReader(maxJSON: RawTCPFrame.maxJSON)
            reader.append(frame)
            guard let json = try? reader.next(), let value = try? JSON.decode(JSONValue.self, from: json),
                case .string(let type)? = value["type"]
            else { return "?" }
            return type
        }
    }

    @Test func `login, offer 100 to 200 ms later, answer, then candidates that came before it`() {
        var run = Run()
        run.login()
        #expect(run.actions == [.join(.init()), .makeOffer(restartsICE: false)])
        run.offer()
        run.pass(.milliseconds(50))
        run.take(.candidate("candidate:1"))
        run.pass(.milliseconds(450))
        #expect(run.sent.map(\.type) == ["login_resp", "sdp"])
        #expect((Duration.milliseconds(100)...Duration.milliseconds(200)).contains(run.sent[1].at - run.sent[0].at))
        run.actions = []
        run.take(.answer(sdp: "v=0"))
        #expect(run.actions == [.accept(sdp: "v=0")])
        run.take(.candidate("candidate:2"))
        run.actions = run.session.accepted(at: run.now)
        #expect(run.actions == [.candidate("candidate:1"), .candidate("candidate:2")])
        run.actions = []
        run.take(.candidate("candidate:3"))
        #expect(run.actions == [.candidate("candidate:3")])
        run.actions = []
        run.take(.answer(sdp: "again"))
        run.take(.login(.init()))
        #expect(run.actions.isEmpty, "neither changes anything any more")
    }

    @Test(arguments: [0, 40, 90, 119, 121]) func `frames keep their distance, whatever comes in between`(at: Int) {
        var run = Run()
        run.login()
        run.offer()
        run.pass(.milliseconds(at))
        // The app's two timers send at once.
        run.take(.heartbeat)
        run.take(.heartbeat)
        run.pass(.seconds(1))
        #expect(run.sent.map(\.type).sorted() == ["heartbeat_resp", "heartbeat_resp", "login_resp", "sdp"])
        for (one, next) in zip(run.sent, run.sent.dropFirst()) {
            #expect(next.at - one.at >= .milliseconds(50), "\(one) and \(next)")
        }
        let offer = run.sent.first { $0.type == "sdp" }
        #expect(offer.map { (Duration.milliseconds(100)...Duration.milliseconds(200)).contains($0.at) } == true)
    }

    @Test func `a flood of heartbeats gets no flood of replies`() {
        var run = Run()
        run.login()
        for _ in 0..<1000 { run.take(.heartbeat) }
        run.pass(.seconds(5))
        #expect(run.sent.count { $0.type == "heartbeat_resp" } == RawTCPPacer.maxReplies)
    }

    @Test func `without a login the connection ends after 10 s`() {
        var run = Run()
        run.take(.heartbeat)
        run.pass(.seconds(9))
        #expect(!run.session.isOver)
        run.take(.heartbeat)
        run.pass(.seconds(2))
        #expect(run.session.isOver)
        #expect(run.sent.map(\.type) == ["heartbeat_resp", "heartbeat_resp", "peer_disconnected_notify"])
        #expect(run.actions.isEmpty)
    }

    @Test func `a client that is silent for 15 s has left`() {
        var run = Run()
        run.login()
        run.offer()
        run.pass(.milliseconds(500))
        run.take(.answer(sdp: "v=0"))
        _ = run.session.accepted(at: run.now)
        for _ in 0..<20 {
            run.pass(.seconds(3))
            run.take(.heartbeat)
        }
        run.actions = []
        run.pass(.seconds(14))
        #expect(run.actions.isEmpty)
        run.pass(.milliseconds(1100))
        #expect(run.actions == [.leave(.timeout)])
        #expect(run.session.isOver && run.sent.last?.type == "peer_disconnected_notify")
    }

    @Test func `an offer without an answer ends the seat after 20 s`() {
        var run = Run()
        run.login()
        run.offer()
        for _ in 0..<7 {
            run.take(.heartbeat)
            run.pass(.seconds(3))
        }
        #expect(run.actions.contains(.leave(.timeout)) && run.session.isOver)
    }

    @Test func `a lost connection keeps the seat for a new login`() {
        var run = Run()
        run.login()
        run.offer()
        run.pass(.seconds(1))
        run.take(.answer(sdp: "v=0"))
        _ = run.session.accepted(at: run.now)
        let ends = [run.session.disconnected(), run.session.disconnected()]
        #expect(ends == [[.lost], []])
        var again = Run()
        again.take(.login(.init(source: 7)))
        _ = again.session.joined(as: 7, isAgain: true, at: again.now)
        let lostAgain = again.session.disconnected()
        #expect(lostAgain == [.lost])
    }

    @Test func `a connection that ends before its answer leaves no seat`() {
        var (outside, seated) = (Run(), Run())
        seated.login()
        seated.offer()
        let ends = [outside.session.disconnected(), seated.session.disconnected()]
        #expect(ends == [[], [.leave(.left)]])
    }

    @Test func `a seat that is taken again gets an offer with an ICE restart`() {
        var run = Run()
        run.take(.login(.init(source: 7)))
        #expect(run.session.joined(as: 7, isAgain: true, at: run.now) == [.makeOffer(restartsICE: true)])
        #expect(run.session.peer == 7)
    }

    @Test func `a kick is told and ends the connection, and not the seat again`() {
        var run = Run()
        run.login()
        run.offer()
        run.pass(.milliseconds(10))
        run.actions = run.session.left(.removed, at: run.now)
        run.pass(.milliseconds(200))
        #expect(run.sent.map(\.type) == ["login_resp", "peer_disconnected_notify"], "the offer is not sent any more")
        #expect(run.session.isOver && run.actions.isEmpty)
        #expect(run.session.disconnected().isEmpty)
    }

    @Test func `a refused join is told; a stranger's answer leaves the seat to its client`() {
        var run = Run()
        run.take(.login(.init()))
        #expect(run.session.refused(Refusal(.roomFull, ""), at: run.now).isEmpty)
        run.pass(.seconds(1))
        #expect(run.sent.map(\.type) == ["peer_disconnected_notify"] && run.session.isOver)

        var stranger = Run()
        stranger.login()
        stranger.offer()
        stranger.pass(.seconds(1))
        stranger.take(.answer(sdp: "v=0"))
        #expect(stranger.session.refused(Refusal(.unauthorized, ""), at: stranger.now) == [.lost])
        var failed = Run()
        failed.login()
        failed.offer()
        failed.pass(.seconds(1))
        failed.take(.answer(sdp: String(repeating: "x", count: 1001)))
        #expect(failed.actions.last == .leave(.failed), "larger than limits.sdpBytes")
    }

    @Test func `a join that comes after the end gives its seat back`() {
        var run = Run()
        run.take(.login(.init()))
        _ = run.session.disconnected()
        #expect(run.session.joined(as: 7, isAgain: false, at: run.now) == [.leave(.left)])
    }

    @Test func `candidates before the answer are bounded`() {
        var run = Run()
        run.login()
        for number in 0..<1000 { run.take(.candidate("candidate:\(number)")) }
        run.take(.candidate(String(repeating: "x", count: 5000)))
        run.offer()
        run.pass(.seconds(1))
        run.take(.answer(sdp: "v=0"))
        #expect(run.session.accepted(at: run.now).count == RawTCPSession.maxCandidates)
    }
}
