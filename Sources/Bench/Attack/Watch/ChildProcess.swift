import Basics
import Glibc
import Sockets

/// A program started beside the bench, that ends with it. Used by the thread that started it.
final class ChildProcess {
    let id: pid_t
    /// Lines for its standard input, from its standard output.
    private let input: Int32
    private let output: Int32
    private var pending: [UInt8] = []
    private var ended: Int32?

    /// Runs `script` with `sh` and `arguments` as its `$@`.
    ///
    /// - Parameter log: gets standard output and error; nil: standard output is read with `line`, errors go where ours go.
    init(script: String, arguments: [String], log: String? = nil) throws(WireError) {
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
        // What dies without a word, as a bench that is killed does, must leave no server behind.
        let words = ["/usr/bin/setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c", script, "sh"] + arguments
        var strings: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        var id = pid_t()
        let result = posix_spawn(&id, words[0], &actions, nil, &strings, environ)
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

    deinit {
        kill()
        close(input)
        close(output)
    }

    /// The wait status once it has ended; nil while it runs.
    var status: Int32? {
        if ended == nil {
            var status: Int32 = 0
            if waitpid(id, &status, WNOHANG) == id { ended = status }
        }
        return ended
    }

    /// How it ended, in words.
    var obituary: String {
        guard let status else { return "runs" }
        return status & 127 == 0 ? "exit status \(status >> 8 & 255)" : "signal \(status & 127)"
    }

    /// Ends it at once.
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

    /// The next line of its standard output; nil when none came in time or it has ended.
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
