import Basics
import Testing

@testable import Peer

/// A lite agent whose peer may forge source addresses.
@Suite("The address to which a lite agent sends media")
struct PathCheckTests {
    private static let server = ICEAgentLiteTests.local
    private static let client = ICECredentials(ufrag: "client00", password: "client-password-00000000")
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let home = IPAddress.v4(0xC000_0201)
    private static let victim = IPAddress.v4(0xC633_6450)

    private func agent() -> ICEAgent {
        var agent = ICEAgent(mode: .lite, local: Self.server, seed: 1, at: Self.start)
        agent.setRemote(Self.client, at: Self.start)
        return agent
    }

    private func flow(_ ip: IPAddress, _ port: UInt16 = 7, _ transport: Flow.Transport = .udp) -> Flow {
        Flow(transport, local: SocketAddress(.v4(1), port: 4000), remote: SocketAddress(ip, port: port))
    }

    @discardableResult
    private func check(_ agent: inout ICEAgent, on flow: Flow, nominate: Bool = true, at now: Instant) -> FlowClaim {
        handle(ICEAgentLiteTests.check(nominate: nominate), &agent, on: flow, at: now)
    }

    private func handle(_ bytes: [UInt8], _ agent: inout ICEAgent, on flow: Flow, at now: Instant) -> FlowClaim {
        bytes.withUnsafeBytes { agent.handle(stun: $0, flow: flow, at: now) }
        return agent.latestClaim
    }

    /// The requests that the agent sent.
    private func requests(_ agent: inout ICEAgent) -> [(message: STUNMessage, flow: Flow)] {
        var result: [(STUNMessage, Flow)] = []
        while let (bytes, flow) = agent.nextTransmit() {
            let message = bytes.withUnsafeBytes { STUNMessage(parsing: $0) }
            if let message, message.messageClass == .request {
                #expect(bytes.withUnsafeBytes { message.isAuthentic($0, password: Self.client.password) })
                result.append((message, flow))
            }
        }
        return result
    }

    /// Answers the agent's check on `flow`, as a host there that knows `password` would.
    @discardableResult
    private func answer(_ agent: inout ICEAgent, on flow: Flow, password: String = client.password, at now: Instant)
        -> FlowClaim
    {
        var claim = FlowClaim.none
        for request in requests(&agent) where request.flow == flow {
            var response = STUNMessage(.success, transaction: request.message.transaction)
            response.xorMappedAddress = flow.local
            claim = handle(response.encoded(password: password), &agent, on: flow, at: now)
        }
        return claim
    }

    /// RFC 8445 §2.5.
    @Test("An answered check shows the round trip, one that was sent twice does not")
    func roundTrip() {
        var agent = agent()
        check(&agent, on: flow(Self.home), at: Self.start)
        answer(&agent, on: flow(Self.home), at: Self.start + .milliseconds(150))
        #expect(agent.roundTripTime == .milliseconds(150))
        var late = self.agent()
        check(&late, on: flow(Self.home), at: Self.start)
        _ = requests(&late)
        late.advance(to: Self.start + .milliseconds(300))
        answer(&late, on: flow(Self.home), at: Self.start + .milliseconds(350))
        #expect(late.roundTripTime == nil)
    }

    @Test("An authentic check from another address moves nothing until ours was answered there, by the peer")
    func forgedAddress() {
        var agent = agent()
        let claim = check(&agent, on: flow(Self.home), at: Self.start)
        #expect(claim == .checked)
        #expect(agent.selected == flow(Self.home), "the first is taken at once")
        let proof = answer(&agent, on: flow(Self.home), at: Self.start)
        #expect(proof == .answered)
        // The peer's own media has stopped, and its checks come from elsewhere.
        for second in 3..<20 {
            let now = Self.start + .seconds(second)
            check(&agent, on: flow(Self.victim), at: now)
            agent.authenticMedia(on: flow(Self.victim), at: now)
            agent.authenticMedia(on: flow(Self.home), at: now)
            agent.advance(to: now)
            #expect(agent.selected == flow(Self.home))
            // Somebody who answers anybody, and somebody who guesses.
            answer(&agent, on: flow(Self.victim), password: "another", at: now)
            var guess = STUNMessage(.success, transaction: .init(high: 1, low: UInt64(second)))
            guess.xorMappedAddress = flow(Self.victim).local
            let guessed = handle(guess.encoded(password: Self.client.password), &agent, on: flow(Self.victim), at: now)
            #expect(guessed == .none)
        }
        #expect(agent.selected == flow(Self.home))
        // A host that is really there gets the media from its first answer on.
        let now = Self.start + .seconds(25)
        check(&agent, on: flow(Self.victim), at: now)
        answer(&agent, on: flow(Self.victim), at: now + .milliseconds(40))
        #expect(agent.selected == flow(Self.victim))
    }

    @Test("An address that does not answer gets few checks")
    func reflection() {
        var agent = agent()
        check(&agent, on: flow(Self.home), at: Self.start)
        answer(&agent, on: flow(Self.home), at: Self.start)
        var sent = 0
        // 50 forged checks a second for 10 s.
        for step in 0..<500 {
            let now = Self.start + .milliseconds(step * 20)
            check(&agent, on: flow(Self.victim), at: now)
            agent.advance(to: now)
            sent += requests(&agent).count
        }
        #expect((5...15).contains(sent), "\(sent)")
    }

    @Test("Transaction ids cannot be guessed from others")
    func unpredictable() {
        func ids() -> [STUNMessage.TransactionID] {
            var agent = ICEAgent(mode: .lite, local: Self.server, at: Self.start)
            return (0..<4).map { _ in agent.newTransactionID() }
        }
        #expect(Set(ids() + ids()).count == 8)
    }

    @Test("Another port of the same address is selected at once, and TCP as well")
    func samePlace() {
        var agent = agent()
        check(&agent, on: flow(Self.home), at: Self.start)
        answer(&agent, on: flow(Self.home), at: Self.start)
        check(&agent, on: flow(Self.home, 8), at: Self.start + .seconds(3))
        #expect(agent.selected == flow(Self.home, 8))
        let tcp = flow(Self.victim, 9, .tcp)
        let claim = check(&agent, on: tcp, at: Self.start + .seconds(6))
        #expect(claim == .answered)
        #expect(agent.selected == tcp)
    }

    @Test("A peer that nominates once is followed by its media when a NAT assigns it another port or address")
    func natForgets() {
        for (moved, isSameAddress) in [(flow(Self.home, 8), true), (flow(Self.victim), false)] {
            var agent = agent()
            check(&agent, on: flow(Self.home), at: Self.start)
            answer(&agent, on: flow(Self.home), at: Self.start)
            for step in 0..<50 { agent.authenticMedia(on: flow(Self.home), at: Self.start + .milliseconds(step * 20)) }
            // Its media does not move the path before its next check, and that one nominates nothing.
            let now = Self.start + .seconds(5)
            agent.authenticMedia(on: moved, at: now)
            #expect(agent.selected == flow(Self.home))
            check(&agent, on: moved, nominate: false, at: now)
            agent.authenticMedia(on: moved, at: now + .milliseconds(1))
            #expect((agent.selected == moved) == isSameAddress, "another address has to answer first")
            answer(&agent, on: moved, at: now + .milliseconds(40))
            #expect(agent.selected == moved)
            // Late media from the old path changes nothing.
            agent.authenticMedia(on: moved, at: now + .milliseconds(60))
            agent.authenticMedia(on: flow(Self.home), at: now + .milliseconds(70))
            #expect(agent.selected == moved)
        }
    }

    @Test("The first address gets three times what came from it, until it answers or the handshake ends")
    func allowance() {
        for isHandshake in [false, true] {
            var agent = agent()
            check(&agent, on: flow(Self.home), at: Self.start)
            let size = ICEAgentLiteTests.check(nominate: true).count
            let isOne = agent.maySend(3 * size)
            let isMore = agent.maySend(1)
            #expect(isOne && !isMore)
            agent.noteBytes(1400, on: flow(Self.home))
            // The hello of a browser pays for our flight, and for its repetition.
            let isFlight = agent.maySend(760)
            let isAgain = agent.maySend(760)
            #expect(isFlight && isAgain)
            if isHandshake { agent.handshakeCompleted() } else { answer(&agent, on: flow(Self.home), at: Self.start) }
            let isAll = agent.maySend(1_000_000)
            #expect(isAll)
        }
    }

    @Test(
        "A peer that never answers stays on its path, and may leave a dead one, but gets no more than three times what it sends"
    )
    func silentPeer() {
        var agent = agent()
        check(&agent, on: flow(Self.home), at: Self.start)
        agent.handshakeCompleted()
        var now = Self.start
        for _ in 0..<24 {
            now += .milliseconds(250)
            agent.advance(to: now)
            check(&agent, on: flow(Self.victim), at: now)
            agent.authenticMedia(on: flow(Self.victim), bytes: 100, at: now)
            _ = requests(&agent)
            if now - Self.start < .seconds(6) { #expect(agent.selected == flow(Self.home)) }
        }
        agent.advance(to: now)
        #expect(agent.selected == flow(Self.victim))
        let received = 24 * (100 + ICEAgentLiteTests.check(nominate: true).count)
        let isPaid = agent.maySend(3 * received)
        let isMore = agent.maySend(1)
        #expect(isPaid && !isMore)
        agent.handshakeCompleted()
        let isMoreLater = agent.maySend(1)
        #expect(!isMoreLater, "the handshake went to another address")
    }

    @Test("Leaving a forged path and returning to it gives no second allowance")
    func comingBack() {
        var agent = agent()
        check(&agent, on: flow(Self.home), at: Self.start)
        agent.handshakeCompleted()
        var received = 0
        var sent = 0
        var now = Self.start
        for _ in 0..<10 {
            // Seven seconds there alone, then one at home.
            for _ in 0..<7 {
                now += .seconds(1)
                agent.advance(to: now)
                check(&agent, on: flow(Self.victim), at: now)
                received += ICEAgentLiteTests.check(nominate: true).count
                agent.advance(to: now)
                while agent.selected == flow(Self.victim), agent.maySend(100) { sent += 100 }
            }
            check(&agent, on: flow(Self.home), at: now)
            agent.authenticMedia(on: flow(Self.home), at: now)
            now += .seconds(3)
            check(&agent, on: flow(Self.home), at: now)
            #expect(agent.selected == flow(Self.home))
        }
        #expect(sent > 0 && sent <= 3 * received)
    }

    @Test("A flow is not bound by a forged address, but by a peer that answers from it")
    func theft() {
        var holder = agent()
        var other = agent()
        var table = Demultiplexer<Int>()
        let shared = flow(Self.home)
        func give(_ id: Int, _ claim: FlowClaim) -> Bool {
            table.claim(shared, by: id, claim) { $0 == 0 ? holder.isValidated(shared) : other.isValidated(shared) }
        }
        let first = check(&holder, on: shared, at: Self.start)
        let isOwn = give(0, first)
        #expect(isOwn)
        // The other one's authentic check comes from the same address: forged, as far as anybody knows.
        for second in 1..<20 {
            let claim = check(&other, on: shared, at: Self.start + .seconds(second))
            let isTaken = give(1, claim)
            #expect(claim == .checked && !isTaken)
            check(&holder, on: shared, at: Self.start + .seconds(second))
            other.advance(to: Self.start + .seconds(second))
        }
        // The first has left without a word and a NAT gave its address to the other, who answers our check: the
        // response has no name, so it is shown to both.
        let now = Self.start + .seconds(21)
        _ = requests(&other)
        other.advance(to: now)
        let again = check(&other, on: shared, at: now + .seconds(3))
        #expect(again == .checked)
        let proof = answer(&other, on: shared, at: now + .seconds(3))
        let isTaken = give(1, proof)
        #expect(proof == .answered && isTaken)
        // One that answers nothing has it once the former owner's consent is over.
        let late = check(&holder, on: shared, at: now + .seconds(4))
        #expect(late == .checked)
    }

    @Test("Media to a path ends 30 s after its last authentic check or media, whatever other paths are live")
    func consent() {
        var agent = agent()
        check(&agent, on: flow(Self.home), at: Self.start)
        answer(&agent, on: flow(Self.home), at: Self.start)
        // A connection that was checked later, and closed.
        let tcp = flow(Self.home, 9, .tcp)
        check(&agent, on: tcp, nominate: false, at: Self.start + .seconds(10))
        agent.remove(tcp, at: Self.start + .seconds(11))
        agent.authenticMedia(on: flow(Self.home), bytes: 1000, at: Self.start + .seconds(5))
        agent.advance(to: Self.start + .milliseconds(34_900))
        #expect(agent.selected == flow(Self.home))
        #expect(agent.nextDeadline.map { $0 <= Self.start + .seconds(35) } == true)
        check(&agent, on: flow(Self.victim), nominate: false, at: Self.start + .milliseconds(34_900))
        agent.advance(to: Self.start + .seconds(35))
        #expect(agent.selected == flow(Self.victim) && !agent.isExpired, "the other one is live")
        check(&agent, on: flow(Self.home), at: Self.start + .seconds(36))
        answer(&agent, on: flow(Self.home), at: Self.start + .seconds(36))
        #expect(agent.selected == flow(Self.home), "it has answered again")
    }

    @Test("A peer without checks is asked for its consent every 5 s; its answers lift the limit that silence sets")
    func ownChecks() {
        var agent = agent()
        check(&agent, on: flow(Self.home), at: Self.start)
        answer(&agent, on: flow(Self.home), at: Self.start)
        var now = Self.start
        var asked = 0
        func run(to end: Duration, answers: Bool) {
            while now < Self.start + end {
                now += .milliseconds(250)
                agent.authenticMedia(on: flow(Self.home), bytes: 100, at: now)
                agent.advance(to: now)
                if answers {
                    if answer(&agent, on: flow(Self.home), at: now) == .answered { asked += 1 }
                } else {
                    asked += requests(&agent).count
                }
            }
        }
        run(to: .seconds(60), answers: true)
        #expect((11...12).contains(asked))
        let isFree = agent.maySend(1_000_000)
        #expect(isFree)
        asked = 0
        run(to: .seconds(95), answers: false)
        #expect((20...60).contains(asked), "\(asked)")
        #expect(agent.selected == flow(Self.home))
        let isLimited = !agent.maySend(1_000_000)
        #expect(isLimited)
        run(to: .seconds(100), answers: true)
        let isFreeAgain = agent.maySend(1_000_000)
        #expect(isFreeAgain)
    }
}
