import Basics
import TestSupport
import Testing

@testable import Cluster

@Suite struct EtcdLoginTests {
    private let begin = BootInstant.zero + .seconds(100)
    private var random = SeededRandom(seed: 1)
    private var login = EtcdLogin()

    private func at(_ seconds: Double) -> BootInstant { begin + .milliseconds(Int(seconds * 1000)) }

    private mutating func begins(_ time: BootInstant) -> Bool { login.begin(at: time) }

    @Test mutating func `one login runs at a time, and a token that a member refuses is asked for once`() {
        var begun = [begins(begin), begins(begin)]
        #expect(begun == [true, false])
        login.given("one", at: at(0.1))
        #expect(login.token == "one" && login.due == nil)
        login.answered()
        login.refused("one", at: at(60), &random)
        login.refused("one", at: at(60), &random)
        #expect(login.token == nil)
        begun = [begins(at(60)), begins(at(60))]
        #expect(begun == [true, false])
        login.given("two", at: at(60.1))
        // A call that was on its way with the old token.
        login.refused("one", at: at(60.2), &random)
        #expect(login.token == "two")
    }

    @Test mutating func `failed logins come more and more rarely, and may take longer`() {
        var (time, gaps): (BootInstant, [Double]) = (begin, [])
        for _ in 0..<8 {
            let isFirst = begins(time)
            login.failed(at: time, &random)
            let isSecond = begins(time)
            #expect(isFirst && !isSecond)
            let due = login.due ?? time
            gaps.append((due - time).inSeconds)
            time = due
        }
        #expect(gaps[0] <= 0.375 && gaps[1] >= 0.25, "\(gaps)")
        #expect(gaps.dropFirst(5).allSatisfy { (2.0...6.0).contains($0) }, "\(gaps)")
        #expect(login.limit == .seconds(30))
    }

    @Test mutating func `a new token that is refused at once is no reason to ask at once`() {
        _ = begins(begin)
        login.given("one", at: begin)
        login.refused("one", at: at(0.01), &random)
        let begun = [begins(at(0.01)), begins(at(0.5))]
        #expect(begun == [false, true])
    }

    @Test
    mutating func `members that do not answer leave the token; after two rounds another one is asked for beside it`() {
        _ = begins(begin)
        login.given("one", at: begin)
        login.unanswered()
        #expect(login.due == nil && login.token == "one")
        login.answered()
        login.unanswered()
        #expect(login.due == nil)
        login.unanswered()
        let isAsked = begins(at(10))
        #expect(login.token == "one" && isAsked)
        login.failed(at: at(11), &random)
        #expect(login.token == "one")
    }
}
