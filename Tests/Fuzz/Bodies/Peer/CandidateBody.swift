import Basics
import Fuzzing

@testable import Peer

/// Candidate lines, parsed alone and trickled to a connection that is gathering its path.
enum CandidateBody {
    static let target = FuzzTarget(
        "candidate", covers: "candidate lines, trickled into a connection", maximumLength: 8192,
        words: [
            "candidate:", " 1 udp ", " 1 tcp ", " typ host", " typ srflx raddr ", " rport ", " tcptype passive",
            " tcptype active", ".local",
            "2001:db8::1", "::ffff:1.2.3.4", "4294967295",
        ],
        seeds: { [lines.joined(separator: "\n")].map { Array($0.utf8) } + lines.map { Array($0.utf8) } }, body: run)

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        let address = SocketAddress(.v4(0xC633_6407), port: 50_000)
        var agent = ICEAgent(
            mode: .controlling, local: ICECredentials(ufrag: "ours", password: "aPasswordOfEnoughLetters"),
            localAddresses: [address],
            configuration: ICEConfiguration(), seed: 1, at: .zero)
        agent.setRemote(ICECredentials(ufrag: "their", password: "anotherPasswordOfEnoughLetters"), at: .zero)
        work.start()
        var now = Instant.zero
        for line in input.bytes.split(separator: 10) {
            work.step(bytes: line.count)
            guard let candidate = Candidate(parsing: String(decoding: line, as: UTF8.self)) else { continue }
            guard Candidate(parsing: candidate.description) != nil else {
                fatalError("candidate: what we write we cannot read: \(candidate.description)")
            }
            agent.addRemoteCandidate(candidate, at: now)
            now += .milliseconds(20)
            agent.advance(to: now)
            while agent.nextTransmit() != nil { work.step() }
            while agent.nextEvent() != nil {}
            _ = agent.nextDeadline
        }
    }

    private static let lines = [
        "candidate:1 1 udp 2130706431 203.0.113.5 4000 typ host",
        "candidate:2 1 tcp 1518280447 2001:db8::1 9 typ host tcptype active",
        "candidate:842163049 1 udp 1677729535 203.0.113.5 46154 typ srflx raddr 0.0.0.0 rport 0 generation 0 ufrag abcd network-cost 999",
        "candidate:3 1 udp 1 4f2a-41.local 9 typ host", "candidate:4 1 udp 1 ::ffff:1.2.3.4 9 typ relay",
        "a=candidate:5 1 UDP 2 10.0.0.1 1 typ host",
    ]
}
