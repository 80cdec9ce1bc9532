import Basics
import Foundation
import Glibc
import Threads

/// A child process that ends with the benchmark. Used by one thread or task at a time.
final class ChildProcess {
    let id: pid_t
    /// The pipes to its standard input and from its standard output.
    private let input: Int32
    private let output: Int32
    private var pending: [UInt8] = []
    private var ended: Int32?

    /// Runs `script` with `sh` and `arguments` as its `$@`.
    ///
    /// - Parameters:
    ///   - environment: its environment; nil for that of this process.
    ///   - directory: its working directory; nil for that of this process.
    ///   - log: a file for standard output and error; with nil `line` reads standard output, and standard error is
    ///     inherited.
    ///   - endsWithThread: whether it is killed when the calling thread ends, for whatever reason.
    init(
        script: String, arguments: [String], environment: [String: String]? = nil, directory: String? = nil,
        log: String? = nil,
        endsWithThread: Bool = true
    ) throws(WireError) {
        var toChild: [Int32] = [-1, -1], fromChild: [Int32] = [-1, -1]
        guard pipe(&toChild) == 0, pipe(&fromChild) == 0 else { throw .system("make pipes") }
        for end in toChild + fromChild { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
        if let log {
            posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        } else {
            posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
        }
        // The signals are reset as a shell does, because Swift's threads block all of them and the benchmark ignores
        // some. The child has a process group of its own: an interrupt from the keyboard is for the benchmark, which
        // ends its children itself.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        // A benchmark that is killed must leave no server behind.
        var words = endsWithThread ? ["/usr/bin/setpriv", "--pdeathsig", "KILL"] : []
        if let directory { words += ["/usr/bin/env", "--chdir=" + directory] }
        words += ["/bin/sh", "-c", script, "sh"] + arguments
        var strings = Self.strings(words)
        var variables = Self.strings((environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" })
        defer { for string in strings + variables { free(string) } }
        var id = pid_t()
        let result = posix_spawn(&id, words[0], &actions, &attributes, &strings, &variables)
        close(toChild[0])
        close(fromChild[1])
        input = toChild[1]
        output = fromChild[0]
        self.id = id
        guard result == 0 else {
            close(input)
            close(output)
            errno = result
            throw .system("start \(arguments.first ?? script)")
        }
    }

    /// C strings, each to be freed, with a null pointer at the end.
    private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }

    deinit {
        kill()
        close(input)
        close(output)
    }

    var statistics: ProcessStatistics { ProcessStatistics(id: id) }

    /// The wait status once it has ended; nil while it runs.
    var status: Int32? {
        if ended == nil {
            var status: Int32 = 0
            if waitpid(id, &status, WNOHANG) == id { ended = status }
        }
        return ended
    }

    /// Its exit status, or the signal that ended it; nil while it runs.
    var exitStatus: Int32? { status.map { $0 & 127 == 0 ? $0 >> 8 & 255 : $0 & 127 } }

    /// A description of its end.
    var obituary: String {
        guard let status, let exitStatus else { return "runs" }
        return (status & 127 == 0 ? "exit status " : "signal ") + "\(exitStatus)"
    }

    /// Sends SIGTERM.
    func terminate() {
        if status == nil { _ = Glibc.kill(id, SIGTERM) }
    }

    /// Sends SIGKILL.
    func kill() {
        guard status == nil else { return }
        _ = Glibc.kill(id, SIGKILL)
        var result: Int32 = 0
        if waitpid(id, &result, 0) == id { ended = result }
    }

    func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
    }

    /// The next line of its standard output; nil after the timeout or at its end.
    func line(within limit: Duration) -> String? {
        let end = MonotonicClock.now() + limit
        while true {
            if let place = pending.firstIndex(of: 10) {
                defer { pending.removeFirst(place + 1) }
                return String(decoding: pending[..<place], as: UTF8.self)
            }
            let left = end - MonotonicClock.now()
            guard left > .zero, waitFor(output, timeout: left) else { return nil }
            let more = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer -> [UInt8] in
                Array(buffer[..<max(0, read(output, buffer.baseAddress, buffer.count))])
            }
            guard !more.isEmpty else { return nil }
            pending += more
        }
    }
}
