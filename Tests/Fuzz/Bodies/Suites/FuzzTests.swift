import Foundation
import Fuzzing
import Testing

/// Short seeded runs without a fuzzer, and the fixtures of all earlier findings.
@Suite("Bytes from outside") struct FuzzTests {
    @Test("Damaged seeds trap nowhere and cost no more than they may", arguments: FuzzTargets.all)
    func seeded(_ target: FuzzTarget) {
        #expect(!target.seeds.isEmpty)
        target.run(seed: 1)
    }

    @Test("Earlier findings cause no fault", arguments: FuzzTargets.all)
    func crashers(_ target: FuzzTarget) throws {
        for crasher in try target.crashers() { target.run(crasher.bytes) }
    }

    @Test("Each folder of crashers belongs to a target, and none is empty")
    func folders() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: FuzzTarget.crasherFolder.path).filter {
            !$0.hasPrefix(".")
        }
        #expect(!names.isEmpty)
        for name in names {
            let target = try #require(FuzzTargets.all.first { $0.name == name }, "no target is called \(name)")
            #expect(try !target.crashers().isEmpty)
        }
    }

    @Test("Names of targets and groups are unique, because the script accepts both")
    func names() {
        let names = FuzzTargets.all.map(\.name) + FuzzTargets.groups.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test(
        "The offers that a connected peer may begin with are there", arguments: ConnectedPeer.offers.compactMap(\.self))
    func offers(_ name: String) { #expect(Offers.text(name) != nil) }
}
