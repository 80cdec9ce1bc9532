import Basics
import Synchronization

extension InputService {
    /// The inputs' samples of the metrics page.
    var samples: [MetricSample] {
        let all = all
        var counts: [InputInfo.State: Int] = [:]
        for input in all where !input.isOver { counts[input.info.state, default: 0] += 1 }
        return [InputInfo.State.connecting, .live, .retrying].map { state in
            MetricSample(
                "tessera_inputs", "Sources that are pulled into rooms.", .gauge, Double(counts[state] ?? 0),
                labels: ["state": state.rawValue])
        }
    }
}
