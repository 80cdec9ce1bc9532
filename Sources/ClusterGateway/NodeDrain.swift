import Basics
package import Cluster
import Threads

/// Whether this node is being emptied, and who empties it.
package final class NodeDrain: Sendable {
    /// Gives the node's rooms away, or waits for their end, and returns when that is done or its time is over.
    package typealias Work = @Sendable (ClusterSettings.Drain) async -> Void

    private let directory: any ClusterDirectory
    private let work: Work
    private let task = Guarded<Task<Void, Never>?>(nil)

    package init(_ directory: any ClusterDirectory, work: @escaping Work) {
        self.directory = directory
        self.work = work
    }

    /// From the beginning of a drain on, until it is taken back.
    package var isDraining: Bool { task.withLock { $0 != nil } }

    /// Begins to empty the node. A drain that goes on already is not changed.
    package func begin(_ drain: ClusterSettings.Drain) {
        task.withLock { task in
            guard task == nil else { return }
            task = Task { [directory, work] in
                await directory.setDraining(true)
                await work(drain)
            }
        }
    }

    /// Empties the node, and returns when that is done or `drain.within` is over.
    package func finish(_ drain: ClusterSettings.Drain) async {
        begin(drain)
        guard let task = task.withLock({ $0 }) else { return }
        await atMost(drain.within) { await task.value }
        // A drain of the API may have longer than this: what is left ends with the process.
        task.cancel()
    }

    /// Takes a drain back: rooms may come again. Those that have gone stay where they are.
    package func end() async {
        let task = task.withLock { task in
            defer { task = nil }
            return task
        }
        task?.cancel()
        await directory.setDraining(false)
    }
}
