import Basics
import Testing

@testable import Cluster

@Suite struct MembershipTests {
    private var membership = Membership(id: "a", incarnation: "i1", .init(ttl: .seconds(6)))
    private let start = BootInstant.zero + .seconds(100)

    private func at(_ seconds: Double) -> BootInstant { start + .milliseconds(Int64(seconds * 1000)) }

    /// Registered at 0 with lease 7 at revision 10.
    private mutating func register() {
        #expect(membership.advance(to: at(0)) == [.register(takesOver: true)])
        #expect(
            membership.registered(lease: 7, ttl: .seconds(6), sent: at(0), revision: 10, at: at(0.01)) == [.relist])
    }

    private func answer(
        _ standing: ClusterView.MembershipState, sees: [String: String] = ["a": "i1"], revision: Int64 = 20,
        isFollowing: Bool = true
    ) -> AliveAnswer {
        AliveAnswer(
            node: "b", incarnation: "j", standing: standing, isFollowing: isFollowing, revision: revision, nodes: sees)
    }

    @Test mutating func `a node is sure for the time to live after the sending of the last answered renewal`() {
        #expect(membership.standing(at: at(0)) == .joining)
        register()
        #expect(membership.standing(at: at(5.9)) == .sure)
        #expect(membership.advance(to: at(1.4)) == [])
        #expect(membership.advance(to: at(1.5)) == [.renew(lease: 7, verifying: false)])
        #expect(membership.advance(to: at(1.6)) == [], "one at a time")
        #expect(
            membership.renewed(lease: 7, ttl: .seconds(6), sent: at(1.5), isRecordThere: nil, at: at(2.5)) == [])
        #expect(membership.leaseMargin(at: at(2.5)) == .seconds(5))
        #expect(membership.standing(at: at(7.4)) == .sure)
        #expect(membership.standing(at: at(7.5)) == .unsure)
    }

    @Test mutating func `a renewal that fails is tried again soon`() {
        register()
        _ = membership.advance(to: at(1.5))
        membership.renewalFailed(lease: 7, at: at(4.5))
        #expect(membership.nextDeadline == at(5))
        #expect(membership.advance(to: at(5)) == [.renew(lease: 7, verifying: false)])
    }

    @Test mutating func `after the deadline a renewal counts only with the node's record`() {
        register()
        #expect(membership.advance(to: at(6)) == [.renew(lease: 7, verifying: true), .ask])
        // The answer of an earlier call that comes late proves nothing.
        #expect(membership.renewed(lease: 7, ttl: .seconds(6), sent: at(5.9), isRecordThere: nil, at: at(6.1)) == [])
        #expect(membership.standing(at: at(6.1)) == .unsure)
        #expect(membership.advance(to: at(6.1)) == [.renew(lease: 7, verifying: true)])
        #expect(
            membership.renewed(lease: 7, ttl: .seconds(6), sent: at(6.1), isRecordThere: true, at: at(6.2)) == [.relist]
        )
        #expect(membership.standing(at: at(6.2)) == .sure)
    }

    @Test mutating func `a renewed lease without the record is none`() {
        register()
        _ = membership.advance(to: at(6))
        _ = membership.renewed(lease: 7, ttl: .seconds(6), sent: at(6), isRecordThere: false, at: at(6.1))
        #expect(membership.standing(at: at(6.1)) == .unsure && membership.leaseID == nil)
        #expect(membership.advance(to: at(6.1)) == [.register(takesOver: false)])
    }

    @Test mutating func `a false death: the node registers anew at once, and claims its rooms`() {
        register()
        membership.sawOwnKeyGone(revision: 9, at: at(1))
        #expect(membership.standing(at: at(1)) == .sure, "an event from before the registration")
        membership.sawOwnKeyGone(revision: 11, at: at(1))
        #expect(membership.standing(at: at(1)) == .unsure)
        #expect(membership.advance(to: at(1)) == [.register(takesOver: false)])
        #expect(
            membership.registered(lease: 8, ttl: .seconds(6), sent: at(1), revision: 12, at: at(1.1))
                == [.relist, .claim])
        #expect(membership.standing(at: at(1.1)) == .sure && membership.leaseID == 8)
        membership.leaseGone(lease: 7, at: at(1.2))
        #expect(membership.standing(at: at(1.2)) == .sure, "the old lease's end")
    }

    @Test mutating func `a sure peer that sees the key gone fences the node`() {
        register()
        #expect(membership.advance(to: at(6)).contains(.ask))
        #expect(membership.answers([answer(.sure, sees: ["b": "j"])], asked: 1, at: at(6.1)) == [.loseAll])
        #expect(membership.standing(at: at(6.1)) == .fenced)
        #expect(membership.advance(to: at(6.1)) == [.register(takesOver: false)])
        #expect(membership.registered(lease: 8, ttl: .seconds(6), sent: at(7), revision: 30, at: at(7)) == [.relist])
    }

    @Test(arguments: [
        // Sure, and sees the key; unsure; its copy is late; its copy ends before the registration.
        (ClusterView.MembershipState.sure, ["a": "i1"], Int64(20), true), (.unsure, [:], 20, true),
        (.sure, [:], 20, false),
        (.sure, [:], 9, true),
    ])
    mutating func `other answers change nothing`(
        standing: ClusterView.MembershipState, sees: [String: String], revision: Int64, isFollowing: Bool
    ) {
        register()
        _ = membership.advance(to: at(6))
        let answer = answer(standing, sees: sees, revision: revision, isFollowing: isFollowing)
        #expect(membership.answers([answer], asked: 3, at: at(6.3)) == [])
        #expect(membership.standing(at: at(6.3)) == .unsure)
    }

    @Test(arguments: [(nil, true), (0.0, false), (11.9, false), (12.1, true)] as [(Double?, Bool)])
    mutating func `a peer that is sure again only just now fences nobody: the store is back, and so may this node be`(
        sureFor: Double?, fences: Bool
    ) {
        register()
        _ = membership.advance(to: at(6))
        var answer = answer(.sure, sees: [:])
        answer.sureFor = sureFor
        #expect(membership.answers([answer], asked: 3, at: at(6.3)).contains(.loseAll) == fences)
    }

    @Test mutating func `a node tells since when it is sure`() {
        register()
        #expect(membership.sureFor(at: at(2)) > .seconds(1))
        _ = membership.advance(to: at(7))
        #expect(membership.sureFor(at: at(7)) == .zero)
        _ = membership.renewed(lease: 7, ttl: .seconds(6), sent: at(7), isRecordThere: true, at: at(7.1))
        #expect(membership.sureFor(at: at(8.1)) == .seconds(1))
    }

    @Test mutating func `nobody answers: alone, until one does`() {
        register()
        for second in 0..<2 {
            let time = at(6 + Double(second))
            #expect(membership.standing(at: time) == .unsure)
            #expect(membership.advance(to: time).contains(.ask))
            #expect(membership.answers([], asked: 2, at: time + .milliseconds(300)) == [])
        }
        #expect(membership.standing(at: at(7.5)) == .alone)
        #expect(membership.advance(to: at(8)).contains(.ask))
        _ = membership.answers([answer(.unsure)], asked: 2, at: at(8.1))
        #expect(membership.standing(at: at(8.1)) == .unsure)
    }

    @Test mutating func `a node without peers is not alone`() {
        register()
        for second in 0..<5 {
            _ = membership.advance(to: at(6 + Double(second)))
            _ = membership.answers([], asked: 0, at: at(6.3 + Double(second)))
        }
        #expect(membership.standing(at: at(11)) == .unsure)
    }

    @Test mutating func `answers that come when the node is sure again fence nobody`() {
        register()
        _ = membership.advance(to: at(6))
        _ = membership.renewed(lease: 7, ttl: .seconds(6), sent: at(6), isRecordThere: true, at: at(6.1))
        #expect(membership.answers([answer(.sure, sees: [:])], asked: 1, at: at(6.2)) == [])
        #expect(membership.standing(at: at(6.2)) == .sure)
    }

    @Test mutating func `another process with the id ends the rooms once, and is not driven out`() {
        register()
        #expect(membership.sawOwnKey(incarnation: "i1", revision: 50, at: at(1)) == [])
        #expect(membership.sawOwnKey(incarnation: "i2", revision: 51, at: at(1)) == [.warnDisplaced, .loseAll])
        #expect(membership.standing(at: at(1)) == .fenced)
        #expect(membership.advance(to: at(5)) == [])
        #expect(membership.advance(to: at(6)) == [.register(takesOver: false)])
        #expect(membership.displaced(at: at(6)) == [])
        #expect(membership.advance(to: at(11)) == [.register(takesOver: false)])
    }

    @Test mutating func `a failed registration is tried again each second`() {
        _ = membership.advance(to: at(0))
        membership.registrationFailed(at: at(0.5))
        #expect(membership.nextDeadline == at(1.5))
        #expect(membership.advance(to: at(1.4)) == [])
        #expect(membership.advance(to: at(1.5)) == [.register(takesOver: true)])
    }
}
