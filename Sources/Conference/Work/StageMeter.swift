import Glibc
import Synchronization

/// What a stage of the way of the data costs: processor time, jobs, and what was dropped before it.
final class StageMeter: Sendable {
    /// As the metrics label it: decode, compose, encode, audio, network.
    let name: String
    private let nanoseconds = Atomic<Int64>(0)
    private let runs = Atomic<Int>(0)
    private let drops = Atomic<Int>(0)

    init(_ name: String) { self.name = name }

    func measure(_ body: () -> Void) {
        let start = StageMeter.threadTime()
        body()
        nanoseconds.wrappingAdd(StageMeter.threadTime() - start, ordering: .relaxed)
        runs.wrappingAdd(1, ordering: .relaxed)
    }

    /// For a thread that does nothing else: the stage's time is all that the thread used so far, its system calls between jobs included.
    func measureThread() {
        nanoseconds.store(StageMeter.threadTime(), ordering: .relaxed)
        runs.wrappingAdd(1, ordering: .relaxed)
    }

    func drop(_ count: Int = 1) { drops.wrappingAdd(count, ordering: .relaxed) }

    /// Processor time in seconds.
    var seconds: Double { Double(nanoseconds.load(ordering: .relaxed)) / 1e9 }
    var count: Int { runs.load(ordering: .relaxed) }
    var dropped: Int { drops.load(ordering: .relaxed) }

    private static func threadTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

/// The meters of the whole server.
struct StageMeters: Sendable {
    let decode = StageMeter("decode")
    let compose = StageMeter("compose")
    let encode = StageMeter("encode")
    let audio = StageMeter("audio")
    let network = StageMeter("network")
    let delays = PictureDelays()
    var all: [StageMeter] { [network, decode, compose, encode, audio] }
}
