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

    /// Returns the processor time that `body` took.
    @discardableResult
    func measure(_ body: () -> Void) -> Duration {
        let start = StageMeter.threadTime()
        body()
        let took = StageMeter.threadTime() - start
        nanoseconds.wrappingAdd(took, ordering: .relaxed)
        runs.wrappingAdd(1, ordering: .relaxed)
        return .nanoseconds(took)
    }

    /// For a thread that does nothing else: the stage's time is all that the thread used so far, its system calls between jobs included.
    /// - Parameter time: what the thread had of processors since it began, in nanoseconds.
    func measured(thread time: Int64) {
        nanoseconds.store(time, ordering: .relaxed)
        runs.wrappingAdd(1, ordering: .relaxed)
    }

    func drop(_ count: Int = 1) { drops.wrappingAdd(count, ordering: .relaxed) }

    /// Processor time in seconds.
    var seconds: Double { Double(nanoseconds.load(ordering: .relaxed)) / 1e9 }
    var count: Int { runs.load(ordering: .relaxed) }
    var dropped: Int { drops.load(ordering: .relaxed) }

    /// What the calling thread has had of processors, in nanoseconds.
    static func threadTime() -> Int64 {
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
    let snapshot = StageMeter("snapshot")
    let delays = PictureDelays()
    let intake = IntakeCounters()
    var all: [StageMeter] { [network, decode, compose, encode, audio, snapshot] }
}
