public import Basics

/// Every cap looks the same on the metrics page: what there may be, what there is, and what was refused.
extension MetricSample {
    /// A cap for all and one for each client address, such as an `AddressTally` keeps.
    static func limits(
        _ name: String, of limit: Int, perAddress: Int, current: Int, refused: [AddressTally.Refusal: Int]
    ) -> [MetricSample] {
        self.limit(name, of: limit, current: current) + [self.limit(name + "_per_address", of: perAddress)]
            + [AddressTally.Refusal.total, .address].map { refusals(name, reason: $0.rawValue, refused[$0] ?? 0) }
    }

    /// A cap, and how much of it is used.
    public static func limit(_ name: String, of limit: Int, current: Int) -> [MetricSample] {
        [
            self.limit(name, of: limit),
            MetricSample(
                "tessera_limited_current", "How many there are of what has a limit.", .gauge, Double(current),
                labels: ["name": name]),
        ]
    }

    static func limit(_ name: String, of limit: Int) -> MetricSample {
        MetricSample(
            "tessera_limit", "What the server, or one client, may have at most.", .gauge, Double(limit),
            labels: ["name": name])
    }

    static func refusals(_ name: String, reason: String, _ count: Int) -> MetricSample {
        MetricSample(
            "tessera_limit_refusals_total", "What was refused because of a limit.", .counter, Double(count),
            labels: ["name": name, "reason": reason])
    }
}

extension AddressTally {
    /// For the metrics page.
    ///
    /// - Parameter name: the label of all its samples.
    public func samples(_ name: String) -> [MetricSample] {
        MetricSample.limits(name, of: limit, perAddress: limitPerAddress, current: count, refused: refused)
    }
}
