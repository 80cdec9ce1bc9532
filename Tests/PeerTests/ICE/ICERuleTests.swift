import Basics
import Testing

@testable import Peer

/// Rules of RFC 8445 that a controlling agent obeys, each by itself.
@Suite struct ICERuleTests {
    private static let client = SocketAddress(.v4(0xC000_0202), port: 5000)
    private static let ours = ICECredentials(ufrag: "caller00", password: "caller-password-00000000")
    private static let theirs = ICEAgentLiteTests.local
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private static func remote(_ port: UInt16) -> SocketAddress { SocketAddress(.v4(0xC000_0201), port: port) }
    private static func flow(_ port: UInt16) -> Flow { Flow(.udp, local: client, remote: remote(port)) }

    private static func caller(ports: [UInt16]) -> ICEAgent {
        var agent = ICEAgent(mode: .controlling, local: ours, localAddresses: [client], seed: 5, at: start)
        agent.setRemote(
            theirs, candidates: ports.enumerated().map { .host(remote($1), preference: $0) }, at: start)
        return agent
    }

    /// The next check that an agent sends, and its flow.
    private static func check(of agent: inout ICEAgent) throws -> (message: STUNMessage, flow: Flow) {
        let sent = agent.nextTransmit()
        let message = sent.flatMap { $0.bytes.withUnsafeBytes { STUNMessage(parsing: $0) } }
        return (try #require(message), try #require(sent).flow)
    }

    private static func answer(
        _ check: STUNMessage, _ messageClass: STUNMessage.Class = .success,
        _ change: (inout STUNMessage) -> Void = { _ in }
    ) -> [UInt8] {
        var response = STUNMessage(messageClass, transaction: check.transaction)
        change(&response)
        return response.encoded(password: theirs.password)
    }

    private static func give(_ bytes: [UInt8], to agent: inout ICEAgent, on flow: Flow, at now: Instant = start) {
        bytes.withUnsafeBytes { agent.handle(stun: $0, flow: flow, at: now) }
    }

    /// RFC 8445 §7.1.1.
    @Test("A check's priority is that of a peer-reflexive candidate")
    func priority() throws {
        var agent = Self.caller(ports: [1000])
        agent.advance(to: Self.start)
        let check = try Self.check(of: &agent).message
        #expect(check.priority.map { $0 >> 24 } == 110)
        #expect(check.username == "\(Self.theirs.ufrag):\(Self.ours.ufrag)")
    }

    /// RFC 8445 §7.2.5.2.1.
    @Test("A response counts on the flow of its check only")
    func symmetry() throws {
        var agent = Self.caller(ports: [1000, 2000])
        agent.advance(to: Self.start)
        let (check, flow) = try Self.check(of: &agent)
        let other = Self.flow(flow == Self.flow(1000) ? 2000 : 1000)
        Self.give(Self.answer(check), to: &agent, on: other)
        #expect(!agent.isValidated(other) && !agent.isValidated(flow))
        Self.give(Self.answer(check), to: &agent, on: flow)
        #expect(agent.isValidated(flow) && !agent.isValidated(other))
    }

    /// RFC 8445 §7.2.5.1.
    @Test("After a 487 the role changes, the tie-breaker is a new one, and the check comes again")
    func roleConflict() throws {
        var agent = Self.caller(ports: [1000])
        agent.advance(to: Self.start)
        let (check, flow) = try Self.check(of: &agent)
        let before = agent.tieBreaker
        #expect(check.iceControlling == before && check.iceControlled == nil)
        Self.give(Self.answer(check, .failure) { $0.errorCode = 487 }, to: &agent, on: flow)
        #expect(!agent.isControlling && agent.tieBreaker != before)
        agent.advance(to: Self.start + .milliseconds(50))
        let again = try Self.check(of: &agent).message
        #expect(again.iceControlled == agent.tieBreaker && again.iceControlling == nil && !again.useCandidate)
    }

    /// RFC 8445 §7.3.1.4.
    @Test("A check from an unknown address is answered by a check of that pair at once")
    func triggered() throws {
        var agent = Self.caller(ports: [])
        agent.advance(to: Self.start)
        #expect(agent.nextTransmit() == nil)
        Self.give(
            ICEAgentLiteTests.check(credentials: Self.ours) {
                ($0.iceControlling, $0.iceControlled) = (nil, 7)
            }, to: &agent, on: Self.flow(4000))
        agent.advance(to: Self.start)
        var sent: [(message: STUNMessage, flow: Flow)] = []
        while let (bytes, flow) = agent.nextTransmit() {
            let message = bytes.withUnsafeBytes { STUNMessage(parsing: $0) }
            sent.append((try #require(message), flow))
        }
        #expect(sent.map(\.message.messageClass) == [.success, .request])
        #expect(sent.allSatisfy { $0.flow == Self.flow(4000) })
    }

    /// RFC 8445 §14.2.
    @Test("Checks are 50 ms apart, however many pairs there are")
    func pacing() {
        var agent = Self.caller(ports: Array(1000..<1010))
        var times: [Instant] = []
        var now = Self.start
        while times.count < 10, now < Self.start + .seconds(1) {
            agent.advance(to: now)
            // A check that is repeated meanwhile has a time of its own.
            while let (bytes, _) = agent.nextTransmit() { if !bytes.isEmpty { times.append(now) } }
            now += .milliseconds(1)
        }
        let first = times.prefix(5)
        #expect(zip(first, first.dropFirst()).allSatisfy { $1 - $0 >= .milliseconds(50) }, "\(first)")
    }

    /// RFC 8445 §6.1.2.5.
    @Test("Of more candidates than it checks, an agent takes the first")
    func pairLimit() {
        let limit = ICEConfiguration().pairLimit
        var agent = Self.caller(ports: (0..<UInt16(limit + 40)).map { 1000 + $0 })
        var checked: Set<Flow> = []
        var now = Self.start
        while now < Self.start + .seconds(20) {
            agent.advance(to: now)
            while let (_, flow) = agent.nextTransmit() { checked.insert(flow) }
            now += .milliseconds(10)
        }
        #expect(checked == Set((0..<UInt16(limit)).map { Self.flow(1000 + $0) }))
    }

    /// RFC 8445 §5.1.1.3 and §5.1.2.
    @Test("Each address of ours has a foundation of its own and the priority of its place, and TCP comes last")
    func candidates() {
        let udp = (0..<3).map { Candidate.host(Self.remote(1000), preference: $0) }
        let tcp = (0..<3).map { Candidate.host(Self.remote(1000), transport: .tcp, preference: $0) }
        let all = udp + tcp
        #expect(Set(all.map(\.foundation)).count == all.count)
        #expect(udp[0].priority == 126 << 24 | 65_535 << 8 | 255 && udp[2].priority == 126 << 24 | 65_533 << 8 | 255)
        #expect(all.map(\.priority) == all.map(\.priority).sorted(by: >))
    }

    /// RFC 8445 §6.1.2.6 and §8.
    @Test("A pair waits, is checked, has succeeded, and is nominated once a better one has had its time")
    func nomination() throws {
        var agent = Self.caller(ports: [1000, 2000])
        func states() -> [String] {
            agent.paths.map { path in
                switch path.check {
                case .waiting: "waiting"
                case .running: "running"
                case .succeeded: "succeeded"
                case .none: "none"
                }
            }
        }
        #expect(states() == ["waiting", "waiting"])
        agent.advance(to: Self.start)
        #expect(try Self.check(of: &agent).flow == Self.flow(1000) && states() == ["running", "waiting"])
        var now = Self.start + .milliseconds(50)
        agent.advance(to: now)
        let (check, flow) = try Self.check(of: &agent)
        #expect(flow == Self.flow(2000) && !check.useCandidate && states() == ["running", "running"])
        let answered = now
        Self.give(Self.answer(check), to: &agent, on: flow, at: now)
        #expect(states() == ["running", "succeeded"])
        var nominated: (after: Duration, flow: Flow)?
        while nominated == nil, now < Self.start + .seconds(1) {
            now += .milliseconds(10)
            agent.advance(to: now)
            while let (bytes, flow) = agent.nextTransmit() {
                let message = bytes.withUnsafeBytes { STUNMessage(parsing: $0) }
                if message?.useCandidate == true { nominated = nominated ?? (now - answered, flow) }
            }
        }
        let delay = ICEConfiguration().nominationDelay
        let found = try #require(nominated)
        #expect(found.flow == flow && found.after >= delay && found.after < delay + .milliseconds(100))
    }

    /// RFC 8445 §11.
    @Test("A keepalive is no answer and no check: it validates nothing and gets no reply")
    func keepalive() throws {
        var agent = Self.caller(ports: [1000])
        agent.advance(to: Self.start)
        let (check, flow) = try Self.check(of: &agent)
        let ignored = agent.ignoredMessages
        let keepalive = STUNMessage(.indication, transaction: check.transaction).encoded(password: nil)
        for _ in 0..<5 { Self.give(keepalive, to: &agent, on: flow) }
        #expect(!agent.isValidated(flow) && agent.ignoredMessages == ignored && agent.nextTransmit() == nil)
    }
}
