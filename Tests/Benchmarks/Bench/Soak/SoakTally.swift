import Basics

/// Counts the actions and the faults so far.
final class SoakTally: Sendable {
    private struct State {
        var counts: [String: Int] = [:]
        var faults: [String] = []
        var faultCount = 0
    }

    /// How many faults are kept with their text.
    private static let kept = 200
    private let state = Guarded(State())

    func count(_ what: String) { state.withLock { $0.counts[what, default: 0] += 1 } }

    /// Counts a fault.
    func fault(_ what: String) {
        state.withLock { state in
            state.faultCount += 1
            if state.faults.count < Self.kept { state.faults.append(what) }
        }
    }

    var counts: [(what: String, count: Int)] {
        state.withLock { $0.counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }
    var faults: (count: Int, first: [String]) { state.withLock { ($0.faultCount, $0.faults) } }
}
