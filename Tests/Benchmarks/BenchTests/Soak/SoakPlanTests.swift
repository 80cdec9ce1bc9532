import Testing

@testable import Bench

@Suite("The soak test's plan")
struct SoakPlanTests {
    @Test("equal seeds and cycles give equal plans, another cycle another plan")
    func repeats() {
        let plans = [0, 0, 1].map { SoakPlan(people: 16, cycle: $0, seed: 7) }
        let told = plans.map { plan in
            plan.visits.map { "\($0.name) \($0.room) \($0.codec) \($0.arrives) \($0.leaves) \($0.deeds.map(\.at))" }
        }
        #expect(told[0] == told[1])
        #expect(told[0] != told[2])
    }

    @Test(
        "every cycle has the same number of visits of each kind",
        arguments: [1, 5, 12, 16, 33])
    func equal(people: Int) {
        func counts(_ cycle: Int) -> [String: Int] {
            var counts: [String: Int] = [:]
            for visit in SoakPlan(people: people, cycle: cycle, seed: 1).visits {
                counts["\(visit.endpoint)", default: 0] += 1
                counts[visit.name.prefix { $0 != " " }.description, default: 0] += 1
            }
            return counts
        }
        for cycle in 1..<6 { #expect(counts(cycle) == counts(0)) }
    }

    @Test("the API ends a room only while a caller is in it", arguments: 0..<60)
    func ended(cycle: Int) {
        let plan = SoakPlan(people: 24, cycle: cycle, seed: 1)
        for request in plan.requests {
            guard case .end(let room) = request.what else { continue }
            #expect(
                plan.visits.contains {
                    $0.room == room && $0.arrives < request.at && $0.leaves > request.at && $0.exit == .sentAway
                })
        }
        #expect(
            (0..<8).contains { SoakPlan(people: 24, cycle: $0, seed: 1).visits.contains { $0.exit == .sentAway } },
            "it does happen")
    }

    @Test("all vanished callers are removed before the quiet seconds", arguments: 0..<20)
    func quiet(cycle: Int) {
        let plan = SoakPlan(people: 24, cycle: cycle, seed: UInt64(cycle))
        for visit in plan.visits {
            // A seat is kept for 15 s after its connection broke, and for 30 s after its peer fell silent; a caller
            // that answers nothing is removed after 45 s.
            let kept: Double =
                switch (visit.exit, visit.endpoint) {
                case (.leave, _), (.sentAway, _): 0
                case (.hangUp, .signalling), (.drop, .signalling): 15
                case (.vanish, _): 47
                default: 32
                }
            #expect(visit.leaves + kept <= SoakPlan.quiet, "\(visit.name) leaves at \(visit.leaves) by \(visit.exit)")
            #expect(visit.deeds.allSatisfy { $0.at > visit.arrives && $0.at < visit.leaves }, "\(visit.name)")
        }
        #expect(SoakPlan.length - SoakPlan.quiet >= SoakSample.interval)
    }

    @Test("joins stay below five a second, the server's limit for one address", arguments: [4, 16, 40])
    func pace(people: Int) {
        let times = SoakPlan(people: people, cycle: 3, seed: 2).visits.map(\.arrives).sorted()
        for (index, time) in times.enumerated() where index >= 5 { #expect(time - times[index - 5] > 0.8) }
    }
}
