import Basics
import CSandbox
import CThreads
import Codecs
import Glibc
import Threads

/// The process that demuxes and decodes one input, as the server sees it: two channels, memory for a picture, and its
/// end. It has no rights (`SourceWorker`), and nothing that it says is trusted.
final class SourceProcess: Sendable {
    static let command = "source-worker"

    /// How much processor time more the process may take than it has taken at a renewal, and how often that is. Two
    /// threads of it run for half a minute at most where the server does not read from it.
    private static let processorTime = 30
    private static let renewal = Duration.seconds(5)
    /// How long a process may take to end by itself once its channels are closed: a server of RTSP or RTMP is told.
    private static let grace = Duration.milliseconds(300)

    let reading: Channel
    let decoding: Channel
    /// Room for one picture of `maxPixels`, which the process writes and the thread that plays the input reads. Unsafe by
    /// type only: it is mapped as long as this object lives.
    nonisolated(unsafe) let pictures: UnsafeMutableRawPointer
    let maxPixels: Int
    private let capacity: Int
    private let clock: @Sendable () -> Instant

    private struct State {
        var process: Int32?
        var failure: (any Error)?
        var renewed = Instant.distantPast
    }

    private let state: Guarded<State>

    /// - Parameters:
    ///   - memory: descriptor of the shared memory, which is mapped and stays the caller's.
    ///   - process: the process's number; nil: tests play it.
    init(
        reading: Channel, decoding: Channel, memory: Int32, maxPixels: Int, process: Int32?,
        clock: @escaping @Sendable () -> Instant = { MonotonicClock.now() }
    ) throws {
        (self.reading, self.decoding, self.maxPixels, self.clock) = (reading, decoding, maxPixels, clock)
        capacity = PackedPicture.capacity(maxPixels: maxPixels)
        guard let mapped = mmap(nil, capacity, PROT_READ, MAP_SHARED, memory, 0), mapped != MAP_FAILED else {
            if let process { Self.end(process, at: .distantPast) }
            throw DemuxError.failed("there is no memory for its pictures")
        }
        pictures = mapped
        state = Guarded(State(process: process))
    }

    deinit {
        munmap(pictures, capacity)
        if let process = state.withLock({ $0.process }) { Self.end(process, at: .distantPast) }
    }

    /// Starts a process and hands it `opening` with `descriptors`.
    static func start(
        _ program: String, _ opening: SourceOpening, _ descriptors: [Int32], check: () throws -> Void
    ) throws -> SourceProcess {
        let memory = sandbox_memory(PackedPicture.capacity(maxPixels: opening.maxPixels))
        guard memory >= 0 else { throw DemuxError.failed("there is no memory for its pictures") }
        defer { close(memory) }
        let (reading, theirReading) = try Channel.pair()
        defer { close(theirReading) }
        let (decoding, theirDecoding) = try Channel.pair()
        defer { close(theirDecoding) }
        // What libraries may print on their own is nobody's.
        let nothing = Glibc.open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { if nothing >= 0 { close(nothing) } }
        let texts: [String] = [program, command]
        let words = texts.map { strdup($0) }
        defer { for word in words { free(word) } }
        let child = threads_spawn(words + [nil], [nil], [theirReading, theirDecoding, nothing])
        guard child >= 0 else {
            throw DemuxError.failed(
                "the process that decodes it cannot be started: \(String(cString: strerror(errno)))")
        }
        let process = try SourceProcess(
            reading: reading, decoding: decoding, memory: memory, maxPixels: opening.maxPixels, process: child)
        process.renewProcessorTime()
        do {
            try withoutActuallyEscaping(check) { check in
                try reading.send(
                    SourceRequest.open(opening).message, descriptors: [memory] + descriptors, check: check)
            }
        } catch {
            throw process.failed(error)
        }
        return process
    }

    /// Lets the process run on. Called while the server waits for it, or asks it for packets.
    func renewProcessorTime() {
        let now = clock()
        state.withLock { state in
            guard let process = state.process, now - state.renewed >= Self.renewal else { return }
            state.renewed = now
            sandbox_allow_time(process, Self.processorTime)
        }
    }

    /// Ends the process because of an error, and returns the first one of all, with the reason in it.
    func failed(_ error: any Error) -> any Error {
        // A process that is about to end has closed its channels a moment before.
        let wait = (error as? Channel.Failure) == .closed ? clock() + Self.grace : .distantPast
        return state.withLock { state in
            var status: Int32?
            if let process = state.process { status = Self.end(process, at: wait) }
            state.process = nil
            if let failure = state.failure { return failure }
            let failure = Self.explained(error, status)
            state.failure = failure
            return failure
        }
    }

    private static func explained(_ error: any Error, _ status: Int32?) -> any Error {
        guard let failure = error as? Channel.Failure else {
            return error is ByteReader.Truncated
                ? DemuxError.failed("the process that decodes it sent rubbish, and was ended") : error
        }
        guard failure == .closed, let status, status & 0x7F != 0, status & 0x7F != SIGKILL else {
            return DemuxError.failed(
                failure == .closed
                    ? "the process that decodes it has ended"
                    : "the process that decodes it sent rubbish, and was ended")
        }
        return DemuxError.failed(
            status & 0x7F == SIGXCPU
                ? "the process that decodes it took more processor time than it may, and was ended"
                : "the process that decodes it has crashed (signal \(status & 0x7F)): its data is damaged, or made to do that"
        )
    }

    /// Ends a process, at `deadline` by force, and returns its status.
    @discardableResult
    private static func end(_ process: Int32, at deadline: Instant) -> Int32 {
        while threads_child_has_ended(process) == 0, MonotonicClock.now() < deadline {
            MonotonicClock.sleep(until: MonotonicClock.now() + .milliseconds(5))
        }
        kill(-process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// Tells the process to end, and ends it by force where it does not at once.
    func finish() {
        reading.hangUp()
        decoding.hangUp()
        let deadline = MonotonicClock.now() + Self.grace
        state.withLock { state in
            if let process = state.process { Self.end(process, at: deadline) }
            state.process = nil
        }
    }

    /// The process's number, for tests.
    var number: Int32? { state.withLock { $0.process } }
}
