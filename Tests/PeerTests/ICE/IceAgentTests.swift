import Basics
import Testing

@testable import Peer

@Suite struct ICEAgentLiteTests {
    static let local = ICECredentials(ufrag: "server00", password: "server-password-00000000")
    static let start = Instant(nanoseconds: 1_000_000_000)

    static func flow(_ port: UInt16) -> Flow {
        Flow(.udp, local: SocketAddress(.v4(1), port: 4000), remote: SocketAddress(.v4(0xC000_0201), port: port))
    }

    static func check(
        nominate: Bool = false, credentials: ICECredentials = local, change: (inout STUNMessage) -> Void = { _ in }
    ) -> [UInt8] {
        var message = STUNMessage(.request, transaction: .init(high: 9, low: 9))
        message.username = "\(credentials.ufrag):client"
        message.priority = 1
        message.iceControlling = 1
        message.useCandidate = nominate
        change(&message)
        return message.encoded(password: credentials.password)
    }

    static func feed(_ agent: inout ICEAgent, _ bytes: [UInt8], _ port: UInt16, at now: Instant) -> STUNMessage? {
        bytes.withUnsafeBytes { agent.handle(stun: $0, flow: flow(port), at: now) }
        guard let reply = agent.nextTransmit() else { return nil }
        return reply.bytes.withUnsafeBytes { STUNMessage(parsing: $0) }
    }

    static func agent() -> ICEAgent { ICEAgent(mode: .lite, local: local, seed: 1, at: start) }

    /// RFC 8445 §7.3, RFC 8489 §6.3.
    @Test func anAuthenticCheckIsAnsweredAndValidatesItsFlow() {
        var agent = Self.agent()
        let reply = Self.feed(&agent, Self.check(), 7, at: Self.start)
        #expect(reply?.messageClass == .success)
        #expect(reply?.xorMappedAddress == Self.flow(7).remote)
        #expect(agent.isValidated(Self.flow(7)) == true)
        #expect(agent.selected == nil)
        _ = Self.feed(&agent, Self.check(nominate: true), 7, at: Self.start)
        #expect(agent.nextEvent() == .selected(Self.flow(7)))
    }

    /// RFC 8489 §6.3 and §9.1.3.
    @Test func badChecksAreRefusedByTheBook() {
        var agent = Self.agent()
        let cases: [([UInt8], Int?)] = [
            (Self.check { $0.username = nil }, 400), (Self.check { $0.priority = nil }, 400),
            (Self.check(credentials: .init(ufrag: Self.local.ufrag, password: "wrong")), 401),
            (Self.check(credentials: .init(ufrag: "stranger", password: "x")), nil),
            (
                Self.check {
                    $0.iceControlling = nil
                    $0.iceControlled = 3
                }, 487
            ),
        ]
        for (index, (bytes, code)) in cases.enumerated() {
            let reply = Self.feed(&agent, bytes, UInt16(index), at: Self.start)
            #expect(reply?.errorCode == code)
            #expect(agent.isValidated(Self.flow(UInt16(index))) == false)
        }
    }

    /// RFC 8489 §6.3.1.
    @Test func anUnknownRequiredAttributeIsNamedInThe420() {
        var agent = Self.agent()
        // A request whose first attribute is 0x0003, CHANGE-REQUEST of old.
        var bytes = Array(Self.check()[..<20])
        STUNMessage.append(3, [], to: &bytes)
        STUNMessage.append(STUNMessage.AttributeType.username, Array("server00:client".utf8), to: &bytes)
        STUNMessage.setLength(of: &bytes, to: bytes.count + 24 - 20)
        STUNMessage.append(
            STUNMessage.AttributeType.messageIntegrity, STUNMessage.hmac(bytes, password: Self.local.password),
            to: &bytes)
        bytes.withUnsafeBytes { agent.handle(stun: $0, flow: Self.flow(1), at: Self.start) }
        let reply = agent.nextTransmit()?.bytes ?? []
        #expect(reply.withUnsafeBytes { STUNMessage(parsing: $0) }?.errorCode == 420)
        // UNKNOWN-ATTRIBUTES with 0x0003 and two bytes of padding.
        #expect(reply.indices.contains { reply[$0...].starts(with: [0, 10, 0, 2, 0, 3, 0, 0]) })
        #expect(agent.isValidated(Self.flow(1)) == false)
    }

    @Test func firefoxNominatesEverythingAndMediaDecides() {
        var agent = Self.agent()
        _ = Self.feed(&agent, Self.check(nominate: true), 1, at: Self.start)
        _ = Self.feed(&agent, Self.check(nominate: true), 2, at: Self.start)
        #expect(agent.selected == Self.flow(2))
        agent.authenticMedia(on: Self.flow(1), at: Self.start + .milliseconds(5))
        #expect(agent.selected == Self.flow(1))
        _ = Self.feed(&agent, Self.check(nominate: true), 2, at: Self.start + .milliseconds(50))
        #expect(agent.selected == Self.flow(1))
        // Chrome moves: the old flow falls silent, the new one is nominated in every check.
        _ = Self.feed(&agent, Self.check(nominate: true), 2, at: Self.start + .seconds(3))
        #expect(agent.selected == Self.flow(2))
    }

    @Test func dtlsBeforeNominationGetsAnAnswerButNotFromStrangers() {
        var agent = Self.agent()
        agent.authenticMedia(on: Self.flow(1), at: Self.start)
        #expect(agent.selected == nil)
        _ = Self.feed(&agent, Self.check(), 1, at: Self.start)
        agent.authenticMedia(on: Self.flow(1), at: Self.start)
        #expect(agent.selected == Self.flow(1))
        _ = Self.feed(&agent, Self.check(nominate: true), 2, at: Self.start)
        #expect(agent.selected == Self.flow(2))
    }

    @Test func silenceInterruptsThenExpires() throws {
        var agent = Self.agent()
        _ = Self.feed(&agent, Self.check(nominate: true), 1, at: Self.start)
        _ = agent.nextEvent()
        #expect(agent.nextDeadline == Self.start + .seconds(6))
        agent.advance(to: Self.start + .seconds(6))
        #expect(agent.nextEvent() == .interrupted)
        _ = Self.feed(&agent, Self.check(), 1, at: Self.start + .seconds(8))
        #expect(agent.nextEvent() == .recovered)
        agent.advance(to: Self.start + .seconds(37))
        #expect(agent.nextEvent() == .interrupted)
        agent.advance(to: Self.start + .seconds(38))
        #expect(agent.nextEvent() == .expired)
        #expect(agent.nextDeadline == nil)
    }

    @Test func eightFlowsAreRememberedAndTheSelectedStays() {
        var agent = Self.agent()
        _ = Self.feed(&agent, Self.check(nominate: true), 1, at: Self.start)
        for port in 2...20 {
            _ = Self.feed(&agent, Self.check(), UInt16(port), at: Self.start + .milliseconds(port * 20))
        }
        #expect(agent.isValidated(Self.flow(1)) == true)
        let validated = (1...20).count { agent.isValidated(Self.flow(UInt16($0))) }
        #expect(validated == 8)
    }

    /// RFC 8445 §9.
    @Test func oldCredentialsLiveUntilTheFirstNewCheck() {
        var agent = Self.agent()
        let new = ICECredentials(ufrag: "server01", password: "server-password-11111111")
        agent.restart(local: new, at: Self.start)
        #expect(agent.localUfrags == ["server01", "server00"])
        #expect(Self.feed(&agent, Self.check(), 1, at: Self.start)?.messageClass == .success)
        #expect(Self.feed(&agent, Self.check(credentials: new), 1, at: Self.start)?.messageClass == .success)
        #expect(agent.nextEvent() == .oldCredentialsExpired)
        #expect(Self.feed(&agent, Self.check(), 1, at: Self.start) == nil)
    }

    @Test func repliesAreLimited() {
        var agent = Self.agent()
        let answered = (0..<1000).count { _ in Self.feed(&agent, Self.check(), 1, at: Self.start) != nil }
        #expect(answered == 100)
        #expect(Self.feed(&agent, Self.check(), 1, at: Self.start + .seconds(1)) != nil)
    }

    @Test func aClosedConnectionGivesWayToAnother() {
        var agent = Self.agent()
        _ = Self.feed(&agent, Self.check(nominate: true), 1, at: Self.start)
        _ = Self.feed(&agent, Self.check(), 2, at: Self.start)
        agent.remove(Self.flow(1), at: Self.start)
        #expect(agent.selected == Self.flow(2))
    }
}

/// A caller and a server in virtual time over a network that loses the datagrams that a test chooses.
@Suite struct ICEAgentControllingTests {
    struct World: ~Copyable {
        static let client = SocketAddress(.v4(0xC000_0202), port: 5000)
        var now = Instant(nanoseconds: 1_000_000_000)
        var caller: ICEAgent
        var server: ICEAgent
        var wire: [(at: Instant, toServer: Bool, bytes: [UInt8], flow: Flow)] = []
        var random = SeededRandom(seed: 3)
        var loss = 0.0
        var dead: Set<UInt16> = []
        var checks = 0

        init(ports: [UInt16]) {
            let theirs = ICEAgentLiteTests.local
            let ours = ICECredentials(ufrag: "caller00", password: "caller-password-00000000")
            caller = ICEAgent(mode: .controlling, local: ours, localAddresses: [Self.client], seed: 5, at: now)
            server = ICEAgent(mode: .lite, local: theirs, seed: 6, at: now)
            server.setRemote(ours, at: now)
            caller.setRemote(
                theirs, candidates: ports.enumerated().map { .host(Self.server($1), preference: $0) }, at: now)
        }

        static func server(_ port: UInt16) -> SocketAddress { SocketAddress(.v4(0xC000_0201), port: port) }
        static func flow(_ port: UInt16) -> Flow { Flow(.udp, local: client, remote: server(port)) }

        mutating func run(for duration: Duration) {
            let end = now + duration
            while true {
                drain()
                let next =
                    [caller.nextDeadline, server.nextDeadline, wire.map(\.at).min()].compactMap { $0 }.min() ?? end
                now = max(now, min(next, end))
                let due = wire.filter { $0.at <= now }
                wire.removeAll { $0.at <= now }
                for packet in due {
                    packet.bytes.withUnsafeBytes { bytes in
                        if packet.toServer {
                            server.handle(stun: bytes, flow: packet.flow, at: now)
                        } else {
                            caller.handle(stun: bytes, flow: packet.flow, at: now)
                        }
                    }
                }
                caller.advance(to: now)
                server.advance(to: now)
                if now >= end { return drain() }
            }
        }

        private mutating func drain() {
            while let (bytes, flow) = caller.nextTransmit() {
                checks += 1
                carry(bytes, Flow(.udp, local: flow.remote, remote: flow.local), port: flow.remote.port, toServer: true)
            }
            while let (bytes, flow) = server.nextTransmit() {
                carry(bytes, Flow(.udp, local: flow.remote, remote: flow.local), port: flow.local.port, toServer: false)
            }
        }

        private mutating func carry(_ bytes: [UInt8], _ flow: Flow, port: UInt16, toServer: Bool) {
            guard !dead.contains(port), Double.random(in: 0..<1, using: &random) >= loss else { return }
            wire.append((now + .milliseconds(20), toServer, bytes, flow))
        }
    }

    /// RFC 8445 §6 and §6.1.2.3.
    @Test func bothEndsSelectTheBestPair() {
        var world = World(ports: [1000, 2000])
        world.run(for: .seconds(1))
        #expect(world.caller.selected == World.flow(1000))
        #expect(world.server.selected?.local.port == 1000)
        #expect(world.caller.roundTripTime == .milliseconds(40))
    }

    @Test func aDeadBestPairIsPassedOver() {
        var world = World(ports: [1000, 2000])
        world.dead = [1000]
        world.run(for: .seconds(1))
        #expect(world.caller.selected == World.flow(2000))
        #expect(world.server.selected?.local.port == 2000)
    }

    /// RFC 8489 §6.2.1.
    @Test(arguments: [0.3, 0.6]) func lossIsOvercome(_ loss: Double) {
        var world = World(ports: [1000])
        world.loss = loss
        world.run(for: .seconds(10))
        #expect(world.caller.selected == World.flow(1000))
        #expect(world.server.selected != nil)
    }

    @Test func consentGoesOnAndABrokenPathIsLeft() {
        var world = World(ports: [1000, 2000])
        world.run(for: .seconds(60))
        #expect(world.caller.isInterrupted == false)
        #expect(world.server.isInterrupted == false)
        // Two pairs, a check each 2.5 s, and the beginning.
        let checks = world.checks
        #expect((30...80).contains(checks))
        world.dead = [1000]
        world.run(for: .seconds(15))
        #expect(world.caller.selected == World.flow(2000))
        #expect(world.server.selected?.local.port == 2000)
        #expect(world.caller.isExpired == false)
    }

    @Test func withoutAnyAnswerBothExpire() {
        var world = World(ports: [1000])
        world.run(for: .seconds(1))
        world.dead = [1000]
        world.run(for: .seconds(40))
        #expect(world.caller.isExpired == true)
        #expect(world.server.isExpired == true)
        #expect(world.caller.selected == nil)
    }

    @Test func aRestartFindsTheWayAgain() {
        var world = World(ports: [1000])
        world.run(for: .seconds(1))
        let ours = ICECredentials(ufrag: "caller01", password: "caller-password-11111111")
        let theirs = ICECredentials(ufrag: "server01", password: "server-password-11111111")
        world.server.restart(local: theirs, at: world.now)
        world.caller.restart(local: ours, at: world.now)
        world.caller.setRemote(theirs, candidates: [.host(World.server(2000))], at: world.now)
        world.dead = [1000]
        world.run(for: .seconds(3))
        #expect(world.caller.selected == World.flow(2000))
        #expect(world.server.selected?.local.port == 2000)
        #expect(world.server.localUfrags == ["server01"])
    }

    @Test func anOpenedTCPFlowIsChecked() {
        var world = World(ports: [])
        let candidate = Candidate.host(World.server(3000), transport: .tcp)
        world.caller.addRemoteCandidate(candidate, at: world.now)
        let flow = Flow(.tcp, local: World.client, remote: World.server(3000), connection: 1)
        world.caller.addFlow(flow, for: candidate, at: world.now)
        world.caller.advance(to: world.now)
        #expect(world.caller.nextTransmit()?.flow == flow)
    }

    /// RFC 8445 §7.3.1.1.
    @Test func theSmallerTieBreakerGivesWay() {
        let now = Instant(nanoseconds: 0)
        var agent = ICEAgent(
            mode: .controlling, local: ICEAgentLiteTests.local, localAddresses: [World.client], seed: 1, at: now)
        agent.tieBreaker = 100
        let flow = ICEAgentLiteTests.flow(1)
        ICEAgentLiteTests.check { $0.iceControlling = 5 }.withUnsafeBytes {
            agent.handle(stun: $0, flow: flow, at: now)
        }
        let refusal = agent.nextTransmit().flatMap { $0.bytes.withUnsafeBytes { STUNMessage(parsing: $0) } }
        #expect(refusal?.errorCode == 487)
        ICEAgentLiteTests.check { $0.iceControlling = 500 }.withUnsafeBytes {
            agent.handle(stun: $0, flow: flow, at: now)
        }
        #expect(agent.isControlling == false)
        #expect(agent.nextTransmit() != nil)
    }

    /// RFC 8445 §5.1.1 and §5.1.2.1.
    @Test func candidatesArePrintedAsTheyWereRead() {
        for text in [
            "candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host generation 0 network-id 1",
            "candidate:2 1 tcp 1518280447 2001:db8::1 9 typ srflx raddr 10.0.0.1 rport 5 tcptype passive",
            "candidate:3 1 udp 1 0a1b.local 4 typ host",
        ] { #expect(Candidate(parsing: text)?.description == text) }
        #expect(Candidate(parsing: "candidate:1 1 udp x 1 2 typ host") == nil)
        #expect(Candidate.host(World.server(1)).priority == 2_130_706_431)
        #expect(Candidate.host(World.server(1), transport: .tcp).priority == 1_526_726_655)
    }
}
