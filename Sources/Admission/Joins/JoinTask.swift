import Basics

/// The task of a client's join, which may take as long as somebody waits to be let in. It ends with the client.
package final class JoinTask: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isOver = false
    }

    private let state = Guarded(State())

    package init() {}

    /// Begins the join, as a task that is cancelled where the client has gone already.
    package func begin(_ join: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            let task = Task { await join() }
            state.task = task
            if state.isOver { task.cancel() }
        }
    }

    /// Ends a join that is not complete.
    package func cancel() { over()?.cancel() }

    /// The same. Returns once nothing of the join runs any more.
    package func end() async {
        let task = over()
        task?.cancel()
        await task?.value
    }

    private func over() -> Task<Void, Never>? {
        state.withLock { state in
            state.isOver = true
            return state.task
        }
    }
}
