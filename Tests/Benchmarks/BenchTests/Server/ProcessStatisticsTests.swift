import Glibc
import Testing

@testable import Bench

@Suite("Statistics of a process")
struct ProcessStatisticsTests {
    @Test("a running process has memory, threads, descriptors and processor time")
    func running() {
        let reading = ServerReading(.own, metrics: ServerMetrics(""))
        #expect(reading.resident > 1 && reading.anonymous > 0 && reading.anonymous < reading.resident)
        #expect(reading.proportional > 0 && reading.proportional <= reading.resident * 1.5)
        #expect(ProcessStatistics.own.peak >= reading.resident)
        #expect(reading.threads >= 1)
        #expect(reading.descriptors >= 3)
        #expect(reading.processorTime > 0)
    }

    @Test("a process that has ended has none")
    func gone() {
        // No process has the id 0.
        let reading = ServerReading(ProcessStatistics(id: 0), metrics: ServerMetrics(""))
        #expect(reading.resident == 0 && reading.threads == 0 && reading.descriptors == 0 && reading.processorTime == 0)
    }

    @Test("a child gets its directory and environment, and reports how it ended")
    func child() throws {
        let child = try ChildProcess(
            script: #"echo "$PWD $1 $WORD"; read status; exit "$status""#, arguments: ["argument"],
            environment: ["WORD": "word"], directory: "/usr")
        #expect(child.line(within: .seconds(10)) == "/usr argument word")
        #expect(child.status == nil && child.obituary == "runs" && child.statistics.threadCount == 1)
        child.write("3")
        // The pipe of its output is closed when it ends.
        #expect(child.line(within: .seconds(10)) == nil)
        #expect(ended(child) == 3 && child.obituary == "exit status 3")

        let asked = try ChildProcess(script: "echo; exec sleep 60", arguments: [], endsWithThread: false)
        _ = asked.line(within: .seconds(10))
        asked.terminate()
        #expect(ended(asked) == SIGTERM && asked.obituary == "signal \(SIGTERM)")
    }

    private func ended(_ child: ChildProcess) -> Int32? {
        for _ in 0..<1000 where child.status == nil { usleep(10_000) }
        return child.exitStatus
    }
}
