import Basics
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Threads

@Suite("ChildProcess")
struct ChildProcessTests {
    private func shell(
        _ script: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String = "",
        limit: Duration = .seconds(20), started: (Int32) -> Void = { _ in }, isCancelled: () -> Bool = { false }
    ) throws -> ChildProcess.Outcome {
        var environment = environment
        environment["PATH"] = "/usr/bin:/bin"
        return try ChildProcess.run(
            ["sh", "-c", script, "sh"] + arguments, environment: environment, input: Array(input.utf8), limit: limit,
            started: started, isCancelled: isCancelled)
    }

    @Test("the program gets arguments, environment and input as they are, and nothing else")
    func gets() throws {
        let odd = "a 'quoted' \"name\"\nof $HOME; two lines"
        let outcome = try shell(
            #"cat >&2; printf '%s|%s|%s' "$#" "$1" "$ODD""#, [odd], environment: ["ODD": odd], input: "in")
        // The last line of the output, whose first line breaks are in the argument.
        #expect(outcome.end == .exited(0) && outcome.errors == "in")
        #expect(outcome.lastLine == "of $HOME; two lines")
        let counted = try shell(#"printf '%s' "$#" "#, [odd, "", odd])
        #expect(counted.lastLine == "3")
        // ls itself has a fourth one open on the directory.
        let descriptors = try shell("ls /proc/self/fd | wc -l")
        #expect(Int(descriptors.lastLine) == 4, "\(descriptors)")
        let signals = try shell("grep -E 'SigBlk|SigIgn' /proc/self/status | tr -d '\\n\\t'")
        #expect(signals.lastLine == "SigBlk:0000000000000000SigIgn:0000000000000000")
    }

    @Test("a large input that nobody reads, and output without end, hold nothing up")
    func floods() throws {
        #expect(try shell("exit 3", input: String(repeating: "x", count: 1 << 20)).end == .exited(3))
        let flood = try shell(
            "head -c 30000000 /dev/zero | tr '\\0' x; echo; echo last; head -c 9000000 /dev/zero >&2; echo end >&2")
        #expect(flood.lastLine == "last" && flood.errors.hasSuffix("end") && flood.errors.utf8.count <= 2048)
    }

    @Test("status and signal of the end are told, and a program that does not exist")
    func ends() throws {
        #expect(try shell("exit 7").end == .exited(7))
        #expect(try shell("kill -9 $$").end == .signalled(9))
        #expect(throws: ChildProcess.StartFailure.self) {
            try ChildProcess.run(["/nonexistent"], environment: [:], input: [], limit: .seconds(1))
        }
        #expect(throws: ChildProcess.StartFailure.self) {
            try ChildProcess.run([], environment: [:], input: [], limit: .seconds(1))
        }
    }

    /// Whether no process of a group runs any more. The kernel ends a killed process a moment after kill(2), and it
    /// stays as a zombie for as long as process 1 does not collect it.
    private func ends(_ group: Int32) async -> Bool {
        await eventually {
            let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return !processes.contains { Int32($0) != nil && runs($0, in: group) }
        }
    }

    private func runs(_ process: String, in group: Int32) -> Bool {
        // proc_pid_stat(5): the number, the name in parentheses, the state, the parent, the group.
        let line = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        guard let end = line.lastIndex(of: ")") else { return false }
        let fields = line[line.index(after: end)...].split(separator: " ")
        return fields.count > 2 && Int32(fields[2]) == group && !["Z", "X"].contains(fields[0])
    }

    @Test("at its limit the whole group ends, also what ignores SIGTERM")
    func limit() async throws {
        var group: Int32 = 0
        let start = MonotonicClock.now()
        let outcome = try shell(
            "trap '' TERM; sleep 100 & while :; do sleep 1; done", limit: .milliseconds(200), started: { group = $0 })
        #expect(outcome.end == .tooLong && group > 1)
        #expect(MonotonicClock.now() - start < .seconds(15))
        #expect(await ends(group))
    }

    @Test("what the program leaves in its group ends with it, and its open pipe holds nothing up")
    func leftovers() async throws {
        var group: Int32 = 0
        let outcome = try shell("sleep 100 & echo there", started: { group = $0 })
        #expect(outcome.end == .exited(0) && outcome.lastLine == "there" && group > 1)
        #expect(await ends(group))
    }

    @Test("the caller can end a run")
    func cancelled() throws {
        var asked = 0
        let outcome = try shell(
            "sleep 100",
            isCancelled: {
                asked += 1
                return asked > 2
            })
        #expect(outcome.end == .cancelled)
    }

    @Test("the group of an earlier run is ended, if its environment shows that it is that one")
    func leftover() throws {
        var found: [Bool] = []
        let scratch = ScratchDirectory()
        // A process has no environment for a moment while it begins a program, so the shell tells that it runs.
        let outcome = try shell(
            "mkdir \"$1\"; while :; do sleep 1; done", [scratch.file("runs")], environment: ["TESSERA_ID": "one"],
            started: { group in
                while access(scratch.file("runs"), F_OK) != 0, kill(group, 0) == 0 { usleep(1000) }
                found.append(ChildProcess.endLeftover(group, with: "TESSERA_ID=two"))
                found.append(ChildProcess.endLeftover(group, with: "TESSERA_ID=one"))
            })
        #expect(found == [false, true] && outcome.end == .signalled(9))
        #expect(!ChildProcess.endLeftover(1, with: "PATH=/") && !ChildProcess.endLeftover(0, with: "PATH=/"))
        #expect(!ChildProcess.endLeftover(getpid(), with: "NO=such"))
    }
}

@Suite("The end of a text")
struct TextTailTests {
    @Test("the last line that is not empty counts, however the text is cut into pieces")
    func lines() {
        for size in 1...12 {
            var line = LastLine()
            let text = Array("first\n s3:a/b.mp4 \r\n\n  \n".utf8)
            for start in stride(from: 0, to: text.count, by: size) {
                line.append(text[start..<min(start + size, text.count)])
            }
            #expect(line.text == "s3:a/b.mp4")
        }
        var long = LastLine()
        long.append(ArraySlice(repeating: 0x61, count: 5000))
        #expect(long.text.count == LastLine.longest)
        #expect(LastLine().text.isEmpty)
    }

    @Test("of a text only the end is kept, without control characters")
    func tail() {
        var tail = OutputTail()
        for _ in 0..<1000 { tail.append(ArraySlice("0123456789\u{1B}[31m\n".utf8)) }
        tail.append(ArraySlice("the end \u{7}\n".utf8))
        #expect(tail.text.hasSuffix("the end") && tail.text.utf8.count <= OutputTail.capacity)
        #expect(!tail.text.contains("\u{1B}"))
    }
}
