import Testing

@testable import Cluster

@Suite struct ThreadExecutorTests {
    @Test func `a task runs and sleeps on the executor's thread, beside others`() async throws {
        let executor = try #require(ThreadExecutor("test"))
        let order = await Task(executorPreference: executor) {
            await withTaskGroup(of: Int.self) { group in
                for time in [60, 20, 40] {
                    group.addTask {
                        await executor.sleep(for: .milliseconds(time))
                        return time
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }.value
        #expect(order == [20, 40, 60])
        executor.stop()
    }
}
