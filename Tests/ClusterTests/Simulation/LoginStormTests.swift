import Basics
import TestSupport
import Testing

@testable import Cluster

/// All tokens end with an etcd that is started again.
@Suite struct LoginStormTests {
    /// Nodes, what etcd has of a processor, the outage, the longest time until all are sure, logins a node.
    struct Case: Sendable, CustomTestStringConvertible {
        var nodes: Int
        var processors: Double
        var outage: Duration
        var limit: Duration
        var logins: Int
        var testDescription: String { "\(nodes) nodes, \(processors) processors, \(outage)" }
    }

    @Test(
        arguments: [
            Case(nodes: 3, processors: 1, outage: .seconds(12), limit: .seconds(2), logins: 1),
            Case(nodes: 3, processors: 0.05, outage: .seconds(30), limit: .seconds(6), logins: 1),
            Case(nodes: 50, processors: 1, outage: .seconds(12), limit: .seconds(5), logins: 1),
            Case(nodes: 50, processors: 1, outage: .seconds(30), limit: .seconds(5), logins: 1),
            Case(nodes: 50, processors: 0.5, outage: .seconds(30), limit: .seconds(20), logins: 3),
            Case(nodes: 50, processors: 0.3, outage: .seconds(600), limit: .seconds(40), logins: 4),
            Case(nodes: 200, processors: 2, outage: .seconds(30), limit: .seconds(20), logins: 3),
        ], seeds(0..<2))
    func `nodes are sure soon after etcd is back, by few logins, and fence nobody within two ttl`(
        storm: Case, seed: UInt64
    ) {
        var run = LoginStorm(
            nodes: storm.nodes, cost: .milliseconds(50), processors: storm.processors, seed: seed)
        let outcome = run.run(outage: storm.outage, limit: .seconds(120))
        #expect(outcome.allSure.map { $0 <= storm.limit } == true, "\(outcome)")
        #expect(outcome.logins <= storm.nodes * storm.logins, "\(outcome)")
        if storm.limit <= .seconds(12) { #expect(outcome.fences == 0, "\(outcome)") }
    }
}
