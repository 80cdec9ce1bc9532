import Basics
import CThreads
import Glibc

/// Runs another program to its end, as a process group of its own.
///
/// The program gets nothing of this process but what it is given: no descriptors beside its three streams, no blocked
/// or ignored signals. It has the nice value of the calling thread.
public enum ChildProcess {
    /// How a run ended.
    public enum End: Sendable, Hashable {
        case exited(Int32)
        case signalled(Int32)
        /// The run's group was ended, since its time was over or since the caller wanted it.
        case tooLong, cancelled
    }

    public struct Outcome: Sendable, Hashable {
        public var end: End
        /// The last line of the standard output that is not empty.
        public var lastLine: String
        /// The end of the standard error.
        public var errors: String
    }

    /// The program could not be started.
    public struct StartFailure: Error, Sendable, Hashable {
        public var reason: String
    }

    /// The time from SIGTERM to SIGKILL.
    public static let grace = Duration.seconds(1)
    /// How often the process is looked at, beside what it writes.
    private static let period: Int32 = 100

    /// Blocks the calling thread until the program has ended. What it left in its group ends then too.
    ///
    /// - Parameters:
    ///   - arguments: the program, looked up in PATH unless it has a slash, and its arguments; no shell reads them.
    ///   - input: the standard input.
    ///   - limit: after this the group is ended.
    ///   - started: called with the process's number, which is that of its group too.
    ///   - isCancelled: asked some times a second; true ends the group.
    public static func run(
        _ arguments: [String], environment: [String: String], input: [UInt8], limit: Duration,
        started: (Int32) -> Void = { _ in }, isCancelled: () -> Bool = { false }
    ) throws(StartFailure) -> Outcome {
        let file = input.withUnsafeBytes { threads_memory_file($0.baseAddress, $0.count) }
        guard file >= 0 else { throw StartFailure(reason: String(cString: strerror(errno))) }
        defer { close(file) }
        let (output, errors) = (try Pipe(), try Pipe())
        let child = try start(arguments, environment, [file, output.writing, errors.writing])
        output.closeWriting()
        errors.closeWriting()
        started(child)
        return wait(for: child, output, errors, until: MonotonicClock.now() + limit, isCancelled)
    }

    private static func start(
        _ arguments: [String], _ environment: [String: String], _ streams: [Int32]
    ) throws(StartFailure) -> Int32 {
        let words = arguments.map { strdup($0) }
        let variables = environment.map { strdup("\($0.key)=\($0.value)") }
        defer { for text in words + variables { free(text) } }
        guard !words.isEmpty else { throw StartFailure(reason: "there is no program") }
        let child = threads_spawn(words + [nil], variables + [nil], streams)
        guard child >= 0 else { throw StartFailure(reason: String(cString: strerror(errno))) }
        return child
    }

    private static func wait(
        for child: Int32, _ output: Pipe, _ errors: Pipe, until deadline: Instant, _ isCancelled: () -> Bool
    ) -> Outcome {
        var lines = LastLine()
        var tail = OutputTail()
        var forced: End?
        var killing = Instant.distantPast
        while threads_child_has_ended(child) == 0 {
            var waiting = [output, errors].filter(\.isOpen).map {
                pollfd(fd: $0.reading, events: Int16(POLLIN), revents: 0)
            }
            poll(&waiting, nfds_t(waiting.count), Self.period)
            output.read { lines.append($0) }
            errors.read { tail.append($0) }
            let now = MonotonicClock.now()
            if forced == nil {
                if isCancelled() { forced = .cancelled } else if now >= deadline { forced = .tooLong }
                if forced != nil {
                    kill(-child, SIGTERM)
                    killing = now + grace
                }
            } else if now >= killing {
                kill(-child, SIGKILL)
                killing = now + grace
            }
        }
        // The child is not collected yet, so its number is still that of its group.
        kill(-child, SIGKILL)
        output.read { lines.append($0) }
        errors.read { tail.append($0) }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let end: End = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .signalled(status & 0x7F)
        return Outcome(end: forced ?? end, lastLine: lines.text, errors: tail.text)
    }

    /// Ends the group of a run that an earlier process of this program left behind when it was killed. Returns whether
    /// there was one.
    ///
    /// - Parameter variable: an entry of the run's environment, `NAME=value`, by which the group's first process is
    ///   told from another one that got the same number. A group that has lost its first process is not found.
    @discardableResult
    public static func endLeftover(_ group: Int32, with variable: String) -> Bool {
        guard group > 1, getpgid(group) == group else { return false }
        let file = open("/proc/\(group)/environ", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var bytes: [UInt8] = []
        while bytes.count < 4 << 20 {
            let piece = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
                count = max(0, Glibc.read(file, buffer.baseAddress, buffer.count))
            }
            if piece.isEmpty { break }
            bytes += piece
        }
        guard bytes.split(separator: 0).contains(where: { $0.elementsEqual(variable.utf8) }) else { return false }
        return kill(-group, SIGKILL) == 0
    }
}

/// The output of a program. Reading takes what is there, and never waits.
private final class Pipe {
    let reading: Int32
    private(set) var writing: Int32
    private(set) var isOpen = true

    /// The most bytes of one reading, so that a program which writes without end does not hold the reader.
    private static let mostAtOnce = 1 << 18

    init() throws(ChildProcess.StartFailure) {
        var ends: [Int32] = [-1, -1]
        guard threads_pipe(&ends) == 0 else {
            throw ChildProcess.StartFailure(reason: String(cString: strerror(errno)))
        }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        close(reading)
        closeWriting()
    }

    func closeWriting() {
        if writing >= 0 { close(writing) }
        writing = -1
    }

    func read(_ take: (ArraySlice<UInt8>) -> Void) {
        var total = 0
        while isOpen, total < Self.mostAtOnce {
            var got = 0
            let piece = [UInt8](unsafeUninitializedCapacity: 1 << 14) { buffer, count in
                got = Glibc.read(reading, buffer.baseAddress, buffer.count)
                count = max(0, got)
            }
            if got == 0 { isOpen = false }
            if got < 0, errno == EINTR { continue }
            if got <= 0 { return }
            total += got
            take(piece[...])
        }
    }
}
