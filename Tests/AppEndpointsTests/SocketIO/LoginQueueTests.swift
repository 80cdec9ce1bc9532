import Basics
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

/// Whose login comes next, in simulated time: a hash takes 0.3 s.
@Suite struct LoginQueueTests {
    private let start = Instant.zero
    private static let hash = Duration.milliseconds(300)

    private func add(
        _ job: String, _ address: UInt32, isKnown: Bool = false, at now: Instant, to queue: inout LoginQueue<String>
    ) -> String {
        switch queue.add(job, from: .v4(address), isKnown: isKnown, at: now) {
        case .taken: "taken"
        case .displaced(let other): "displaced \(other)"
        case .refused: "refused"
        }
    }

    @Test func `addresses take turns`() {
        var queue = LoginQueue<String>()
        for job in ["a1", "a2", "a3"] { _ = add(job, 1, at: start, to: &queue) }
        for job in ["b1", "b2"] { _ = add(job, 2, at: start, to: &queue) }
        let order = (0..<5).compactMap { _ in queue.next(at: start)?.job }
        #expect(order == ["a1", "b1", "a2", "b2", "a3"] && queue.count == 0)
    }

    @Test func `an address has four places, and a site with IPv6 no more`() {
        var queue = LoginQueue<Int>()
        var taken = 0
        for number in 0..<100 {
            let address = IPAddress.v6(0x2001_0DB8_0001_0000 | UInt64(number), UInt64(number))
            if case .taken = queue.add(number, from: address, isKnown: false, at: start) { taken += 1 }
        }
        #expect(taken == LoginQueue<Int>.perAddress && queue.count == 4)
    }

    @Test func `names that have logged in from there come first, and the others get what is left`() {
        var queue = LoginQueue<String>()
        for number in 0..<20 { _ = add("stranger", UInt32(100 + number), at: start, to: &queue) }
        for number in 0..<9 { _ = add("friend", UInt32(number), isKnown: true, at: start, to: &queue) }
        let order = (0..<12).compactMap { _ in queue.next(at: start)?.job }
        #expect(order.filter { $0 == "friend" }.count == 9 && order.prefix(3).allSatisfy { $0 == "friend" })
    }

    @Test func `a full queue takes from who has most, and from nobody for who would have as many`() {
        var queue = LoginQueue<String>()
        for address in 0..<64 {
            for job in 0..<4 { _ = add("\(address).\(job)", UInt32(address), at: start, to: &queue) }
        }
        #expect(queue.count == LoginQueue<String>.total)
        let friend = add("friend", 1000, isKnown: true, at: start, to: &queue)
        #expect(friend.hasPrefix("displaced") && queue.count == LoginQueue<String>.total)
        let fourth = add("more", 0, at: start, to: &queue)
        #expect(fourth == "refused" || friend.hasPrefix("displaced 0."))
        var even = LoginQueue<String>()
        for address in 0..<256 { _ = add("\(address)", UInt32(address), at: start, to: &even) }
        let late = add("late", 1000, at: start, to: &even)
        #expect(late == "refused")
    }

    @Test func `who has waited too long is told so without a hash`() {
        var queue = LoginQueue<String>()
        _ = add("old", 1, at: start, to: &queue)
        _ = add("new", 2, at: start + .seconds(20), to: &queue)
        let work = queue.next(at: start + LoginQueue<String>.patience)
        #expect(work?.late == ["old"] && work?.job == "new" && queue.count == 0)
    }

    /// As the review measured it: a friend with the right password got in 0 of 6 times beside 60 addresses.
    @Test(arguments: [5, 60]) func `friends log in beside strangers who log in as fast as they may`(strangers: Int) {
        var queue = LoginQueue<String>()
        var (done, refused, waits) = (0, 0, [Duration]())
        var (busyUntil, since) = (start, [String: Instant]())
        for tick in 0..<6000 {
            let now = start + .milliseconds(100 * tick)
            // Each stranger: ten at once, then one every two seconds.
            for stranger in 0..<strangers where tick < 10 || (tick + stranger) % 20 == 0 {
                let answer = add("s", UInt32(1000 + stranger), isKnown: tick > 100, at: now, to: &queue)
                if answer.hasPrefix("displaced f") { refused += 1 }
            }
            // A friend each ten seconds: every other one from an address of its own that has logged in before.
            if tick % 100 == 50 {
                let name = "f\(tick)"
                since[name] = now
                let answer = add(name, UInt32(5000 + tick), isKnown: tick % 200 == 50, at: now, to: &queue)
                if answer == "refused" { refused += 1 }
            }
            while busyUntil <= now, let work = queue.next(at: now) {
                refused += work.late.filter { $0.hasPrefix("f") }.count
                guard let job = work.job else { break }
                busyUntil = max(busyUntil, now) + Self.hash
                if let asked = since[job] {
                    done += 1
                    waits.append(busyUntil - asked)
                }
            }
        }
        #expect(refused == 0 && done >= 58, "\(done) of 60 done, \(refused) refused")
        #expect(waits.allSatisfy { $0 < .seconds(25) }, "the longest wait is \(waits.max() ?? .zero)")
    }
}
