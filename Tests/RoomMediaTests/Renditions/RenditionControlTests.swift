import Basics
import Testing

@testable import RoomMedia

@Suite("RenditionControl")
struct RenditionControlTests {
    private let ladder = Ladder(
        RoomMediaConfiguration.Rung.standard, width: 1280, height: 720, framesPerSecond: 30)
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000) }
    private func control(_ kind: RenditionKind = .rung(0)) -> RenditionControl {
        RenditionControl(rung: ladder.rung(for: kind), kind: kind)
    }

    /// A rendition whose member got its first keyframe at 0 ms.
    private func running(_ kind: RenditionKind = .rung(0), member: String = "a") -> RenditionControl {
        var control = control(kind)
        control.join(member, budget: nil)
        _ = control.takeKeyframe(at: at(0))
        return control
    }

    // MARK: - Rate

    @Test("With two members the weakest link sets the rate")
    func weakest() {
        var control = control()
        control.join("a", budget: .megabits(3))
        control.join("b", budget: .kilobits(1300))
        #expect(control.rate == .kilobits(1300) * 0.92)
    }

    @Test("With many members one weak link does not set the rate")
    func minority() {
        var control = control()
        for member in 0..<9 { control.join("\(member)", budget: .megabits(3)) }
        control.join("weak", budget: .kilobits(900))
        #expect(control.rate >= .kilobits(1350))
    }

    @Test(
        "The joining rendition never has more than its weakest link carries, or than the lowest rung until that is known"
    )
    func joiningRate() {
        var control = control(.joining)
        for member in 0..<9 { control.join("\(member)", budget: .megabits(3)) }
        #expect(control.rate == ladder.joining.bitRate)
        control.join("new", budget: nil)
        #expect(control.rate == .kilobits(110))
        control.setBudget(.kilobits(200), of: "new")
        #expect(control.rate == .kilobits(200) * 0.92)
        control.setBudget(.kilobits(50), of: "new")
        #expect(control.rate == ladder.rungs[2].leastBitRate)
    }

    // MARK: - Pictures

    @Test("A picture that stands still is encoded once a second; one that is not shown whole yet, with each period")
    func unfinished() {
        var control = running()
        func encoded(from start: Int64, isWhole: Bool) -> Int {
            (0..<30).count { tick in
                let now = at(start + Int64(tick) * 33)
                guard control.wantsPicture(at: now, generation: 7) else { return false }
                control.noteQueued(picture: 7, at: now)
                if !isWhole { control.noteUnfinished() }
                return true
            }
        }
        #expect(encoded(from: 1000, isWhole: true) == 1)
        #expect(encoded(from: 3000, isWhole: false) >= 29)
        #expect(encoded(from: 5000, isWhole: true) <= 2)
    }

    // MARK: - Keyframes

    @Test("Repairing members share a budget of keyframes; an urgent member does not wait for it")
    func budget() {
        var control = control()
        control.join("a", budget: nil)
        var made = 0
        for tick in 0..<300 {
            control.requestKeyframe(isUrgent: false)
            if control.takeKeyframe(at: at(Int64(tick) * 33)) { made += 1 }
        }
        // Three at once, and then one every two seconds.
        #expect((5...8).contains(made))
        control.requestKeyframe(isUrgent: true)
        let isTaken = control.takeKeyframe(at: at(300 * 33 + 500))
        #expect(isTaken)
    }

    @Test("All urgent requests within half a second get one keyframe")
    func shared() {
        var control = running()
        var taken: [Int64] = []
        control.requestKeyframe(isUrgent: true)
        for time in [100, 500, 1100] as [Int64] {
            if time == 500 { control.requestKeyframe(isUrgent: true) }
            if control.takeKeyframe(at: at(time)) { taken.append(time) }
        }
        #expect(taken == [500])
    }

    @Test("Members that join share one keyframe, five seconds after the last")
    func joiners() {
        var control = running()
        control.join("b", budget: nil)
        #expect(control.awaitKeyframe("b", at: at(3000)) == .milliseconds(1900))
        control.join("c", budget: nil)
        #expect(control.awaitKeyframe("c", at: at(4500)) == .milliseconds(400))
        var taken: [Int64] = []
        for time in stride(from: Int64(3000), to: 20_000, by: 20) where control.takeKeyframe(at: at(time)) {
            taken.append(time)
        }
        #expect(taken == [4900])
        control.join("d", budget: nil)
        #expect(control.awaitKeyframe("d", at: at(20_000)) == .zero, "none was made for long")
    }

    @Test(
        "The taps' shortest interval sets the keyframes, and their highest rate the frames of a picture that stands still"
    )
    func taps() {
        var control = control()
        control.tap("file", TapNeeds())
        control.tap("stream", TapNeeds(keyframeInterval: .seconds(2), framesPerSecond: 10))
        var (frames, keyframes): ([Int64], [Int64]) = ([], [])
        func run(_ ticks: Range<Int64>) {
            (frames, keyframes) = ([], [])
            for tick in ticks {
                let now = at(tick * 1000 / 30)
                guard control.wantsPicture(at: now, generation: 1) else { continue }
                control.noteQueued(picture: 1, at: now)
                frames.append(tick)
                if control.takeKeyframe(at: now) { keyframes.append(tick) }
            }
        }
        run(0..<300)
        #expect(keyframes == [0, 60, 120, 180, 240] && (95...105).contains(frames.count))
        control.leave("stream")
        run(300..<900)
        #expect(keyframes == [540, 840] && (18...25).contains(frames.count))
    }

    @Test("A keyframe made for another reason serves those who wait")
    func served() {
        var control = running()
        control.join("b", budget: nil)
        _ = control.awaitKeyframe("b", at: at(2900))
        control.requestKeyframe(isUrgent: true)
        let isRepair = control.takeKeyframe(at: at(3000))
        let isForced = control.takeKeyframe(at: at(9000))
        #expect(isRepair && !isForced)
    }

    @Test("A member that leaves before its keyframe costs the others none, and one that stays alone gets it at once")
    func leaving() {
        var control = running()
        for member in ["b", "c"] {
            control.join(member, budget: nil)
            _ = control.awaitKeyframe(member, at: at(2900))
        }
        var both = control
        both.leave("b")
        both.leave("c")
        let isForNobody = both.takeKeyframe(at: at(9000))
        #expect(!isForNobody)
        let isEarly = control.takeKeyframe(at: at(3000))
        control.leave("a")
        let isAtOnce = control.takeKeyframe(at: at(3033))
        #expect(!isEarly && isAtOnce)
    }

    @Test("Members that come while a rendition starts do not wait for one another")
    func start() {
        var control = running()
        control.join("b", budget: nil)
        #expect(control.awaitKeyframe("b", at: at(100)) == .milliseconds(400))
        let isTaken = control.takeKeyframe(at: at(500))
        #expect(isTaken)
    }

    @Test("A joiner waits at most 200 ms for the joining rendition's keyframe, however many have joined it")
    func joining() {
        var control = running(.joining)
        for number in 0..<50 {
            let now = at(2500 + Int64(number) * 100)
            control.join("\(number)", budget: nil)
            #expect(control.awaitKeyframe("\(number)", at: now) <= .milliseconds(200))
            _ = control.takeKeyframe(at: now)
        }
    }

    @Test("A member that joins while a keyframe is encoded has got it with the others")
    func between() {
        var control = running()
        control.requestKeyframe(isUrgent: true)
        _ = control.takeKeyframe(at: at(3000))
        control.join("b", budget: nil)
        _ = control.awaitKeyframe("b", at: at(3010))
        control.noteKeyframe(at: at(3000))
        let isTaken = control.takeKeyframe(at: at(9000))
        #expect(!isTaken)
    }
}
