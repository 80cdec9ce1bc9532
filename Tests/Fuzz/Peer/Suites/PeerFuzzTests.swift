import Fuzzing
import Testing

/// Short seeded runs without a fuzzer, and everything that a fuzzer ever found.
@Suite("Bytes from outside: Peer") struct PeerFuzzTests {
    @Test("Damaged seeds trap nowhere and cost no more than they may", arguments: PeerTargets.all)
    func seeded(_ target: FuzzTarget) { target.run(seed: 1) }

    @Test("What was found once does no harm", arguments: PeerTargets.all)
    func crashers(_ target: FuzzTarget) throws {
        for crasher in try target.crashers() { target.run(crasher.bytes) }
    }
}
