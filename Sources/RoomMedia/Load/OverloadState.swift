package import Basics
import Synchronization

/// The server's overload level, and with it what the server gives up: first encoding quality, then frames, then the top
/// rung, then new rooms. Audio is never given up.
package final class OverloadState: Sendable {
    package enum Level: Int, Comparable, Sendable, CaseIterable {
        case none, fastEncoders, halfRate, noTopRung, noNewRooms
        package static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    private let current = Atomic<Int>(0)
    private let lateTicks = Atomic<Int>(0)
    private let ticks = Atomic<Int>(0)
    private let slowEncodes = Atomic<Int>(0)
    private let encodes = Atomic<Int>(0)
    private let judge = Guarded(OverloadJudge())

    package init() {}

    package var level: Level { Level(rawValue: current.load(ordering: .relaxed)) ?? .none }
    var usesFastEncoders: Bool { level >= .fastEncoders }
    package var refusesRooms: Bool { level >= .noNewRooms }

    /// Whether a picture beside the room's own one leaves this tick out: it has half the frames of that, from the first
    /// level on. The picture clock leaves ticks out for all.
    func leavesOut(_ tick: Instant, framesPerSecond: Int) -> Bool {
        // A tick may lie a fraction of a nanosecond before its multiple.
        let number = (tick + .nanoseconds(1)).ticks(at: Int64(framesPerSecond))
        return level >= .fastEncoders && number % (level >= .halfRate ? 4 : 2) != 0
    }

    /// Counts a picture tick, which is late when it was skipped since the one before was not done.
    func ticked(isLate: Bool) {
        ticks.wrappingAdd(1, ordering: .relaxed)
        if isLate { lateTicks.wrappingAdd(1, ordering: .relaxed) }
    }

    func encoded(in time: Duration, of period: Duration) {
        encodes.wrappingAdd(1, ordering: .relaxed)
        if time > period { slowEncodes.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Judges the counts since the last call, once a second, and returns the level when it changed.
    package func evaluate(at now: Instant) -> Level? {
        judge.withLock { judge in
            let all = ticks.exchange(0, ordering: .relaxed)
            let late = lateTicks.exchange(0, ordering: .relaxed)
            let coded = encodes.exchange(0, ordering: .relaxed)
            let slow = slowEncodes.exchange(0, ordering: .relaxed)
            let share = max(all > 0 ? Double(late) / Double(all) : 0, coded > 0 ? Double(slow) / Double(coded) : 0)
            guard let level = judge.update(lateShare: share, at: now) else { return nil }
            current.store(level.rawValue, ordering: .relaxed)
            return level
        }
    }
}

/// The rule by which the level moves: up quickly while ticks come late, down slowly once they do not.
struct OverloadJudge: Sendable {
    /// A larger share of late ticks than this is trouble …
    static let trouble = 0.1
    /// … which raises the level after this long.
    static let stepUpAfter = Duration.seconds(2)
    /// A smaller share than this is calm, which lowers the level after `stepDownAfter`.
    static let calm = 0.02
    static let stepDownAfter = Duration.seconds(15)

    private(set) var level = OverloadState.Level.none
    private var troubleSince: Instant?
    private var calmSince: Instant?

    /// Returns the level when it changed.
    mutating func update(lateShare: Double, at now: Instant) -> OverloadState.Level? {
        if lateShare > Self.trouble {
            calmSince = nil
            let since = troubleSince ?? now
            troubleSince = since
            guard now - since >= Self.stepUpAfter, let next = OverloadState.Level(rawValue: level.rawValue + 1) else {
                return nil
            }
            troubleSince = now
            level = next
            return level
        }
        troubleSince = nil
        guard lateShare < Self.calm else {
            calmSince = nil
            return nil
        }
        let since = calmSince ?? now
        calmSince = since
        guard now - since >= Self.stepDownAfter, let next = OverloadState.Level(rawValue: level.rawValue - 1) else {
            return nil
        }
        calmSince = now
        level = next
        return level
    }
}
