import Basics
import Codecs
import Testing
import Threads

@testable import Conference

@Suite("Snapshots")
struct SnapshotTests {
    private final class Answers: Sendable {
        let all = Guarded<[Snapshots.Answer]>([])
        var count: Int { all.withLock { $0.count } }
        var bytes: [[UInt8]] { all.withLock { $0.compactMap { try? $0.get() } } }
    }

    private func picture(_ luma: UInt8) -> Picture {
        let picture = Picture(width: 64, height: 36)
        picture.fill(y: luma, u: 128, v: 128)
        return picture
    }

    @Test("requests within half a second get the same picture, made once")
    func shared() async {
        let pool = WorkPool(threads: 1)
        pool.start()
        defer { pool.stop() }
        let meter = StageMeter("snapshot")
        let (snapshots, answers) = (Snapshots(pool: pool, meter: meter), Answers())
        let now = MonotonicClock.now()
        let tickets = (0..<20).map { _ in
            snapshots.ask(.init(room: "r"), at: now) { answer in answers.all.withLock { $0.append(answer) } }
        }
        #expect(tickets.compactMap { $0 } == [1], "the first has it made")
        snapshots.picture(picture(90), of: .init(room: "r"), ticket: 1)
        // The job is counted when it has ended, after its answers.
        while answers.count < 20 || meter.count < 1 { await Task.yield() }
        #expect(Set(answers.bytes).count == 1 && answers.bytes.count == 20 && meter.count == 1)
        // The picture is less than half a second old.
        #expect(
            snapshots.ask(.init(room: "r"), at: now) { answer in answers.all.withLock { $0.append(answer) } } == nil)
        #expect(answers.bytes.count == 21)
        #expect(snapshots.ask(.init(room: "r"), at: now + .seconds(2)) { _ in } == 2)
    }

    @Test("the requests that wait for one picture and the pictures in the making are bounded")
    func bounded() {
        let (snapshots, answers) = (Snapshots(pool: WorkPool(threads: 1), meter: StageMeter("snapshot")), Answers())
        let now = MonotonicClock.now()
        for _ in 0..<Snapshots.waitersPerRoom { _ = snapshots.ask(.init(room: "r0"), at: now) { _ in } }
        #expect(
            snapshots.ask(.init(room: "r0"), at: now) { answer in answers.all.withLock { $0.append(answer) } } == nil)
        for room in 1..<Snapshots.rooms { #expect(snapshots.ask(.init(room: "r\(room)"), at: now) { _ in } != nil) }
        #expect(
            snapshots.ask(.init(room: "one more"), at: now) { answer in answers.all.withLock { $0.append(answer) } }
                == nil)
        #expect(answers.count == 2 && answers.bytes.isEmpty)
    }

    @Test("a picture that never came fails the requests that waited for it, not later ones")
    func late() {
        let (snapshots, answers) = (Snapshots(pool: WorkPool(threads: 1), meter: StageMeter("snapshot")), Answers())
        let now = MonotonicClock.now()
        let first = snapshots.ask(.init(room: "r"), at: now) { answer in answers.all.withLock { $0.append(answer) } }
        snapshots.fail(.init(room: "r"), ticket: first ?? 0, .internalFailure("late"))
        #expect(answers.count == 1)
        let second = snapshots.ask(.init(room: "r"), at: now) { answer in answers.all.withLock { $0.append(answer) } }
        #expect(second != nil && second != first)
        snapshots.fail(.init(room: "r"), ticket: first ?? 0, .internalFailure("late"))
        #expect(answers.count == 1)
    }
}
