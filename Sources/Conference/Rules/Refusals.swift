import Basics

/// Counts of refusals by limits other than `Capacity`, since the start.
struct Refusals: Sendable {
    /// Why a view was refused.
    enum View: String, Sendable, CaseIterable { case total, overload, rate }

    private var requests: [RatedRequest: Int] = [:]
    private var views: [View: Int] = [:]

    mutating func count(_ request: RatedRequest) { requests[request, default: 0] += 1 }
    mutating func count(_ view: View) { views[view, default: 0] += 1 }

    var samples: [MetricSample] {
        RatedRequest.allCases.map { MetricSample.refusals($0.rawValue, reason: "rate", requests[$0] ?? 0) }
            + View.allCases.map { MetricSample.refusals("views", reason: $0.rawValue, views[$0] ?? 0) }
    }
}
