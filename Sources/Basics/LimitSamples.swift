/// Every limit has the same samples on the metrics page: the limit, its use, and the refusals.
extension MetricSample {
    /// A limit for all clients and one for each address, such as an `AddressTally` keeps.
    package static func limits(
        _ name: String, of limit: Int, perAddress: Int, current: Int, refused: [AddressTally.Refusal: Int]
    ) -> [MetricSample] {
        self.limit(name, of: limit, current: current) + [self.limit(name + "_per_address", of: perAddress)]
            + [AddressTally.Refusal.total, .address].map { refusals(name, reason: $0.rawValue, refused[$0] ?? 0) }
    }

    /// A limit and its use.
    package static func limit(_ name: String, of limit: Int, current: Int) -> [MetricSample] {
        [
            self.limit(name, of: limit),
            MetricSample(
                "tessera_limited_current", "The present use of a limit.", .gauge, Double(current),
                labels: ["name": name]),
        ]
    }

    package static func limit(_ name: String, of limit: Int) -> MetricSample {
        MetricSample(
            "tessera_limit", "The most that the server, or one client, may have.", .gauge, Double(limit),
            labels: ["name": name])
    }

    package static func refusals(_ name: String, reason: String, _ count: Int) -> MetricSample {
        MetricSample(
            "tessera_limit_refusals_total", "Refusals because of a limit.", .counter, Double(count),
            labels: ["name": name, "reason": reason])
    }
}

extension AddressTally {
    /// The samples of the metrics page.
    ///
    /// - Parameter name: the label of all its samples.
    package func samples(_ name: String) -> [MetricSample] {
        MetricSample.limits(name, of: limit, perAddress: limitPerAddress, current: count, refused: refused)
    }
}

extension FairShare {
    /// The samples of the metrics page: the limits, the places in use and of those the idle ones, the holders that were
    /// displaced, and the refusals.
    ///
    /// - Parameter name: the label of all its samples.
    package func samples(_ name: String) -> [MetricSample] {
        let bounds =
            perAddress < total
            ? MetricSample.limits(name, of: total, perAddress: perAddress, current: count, refused: refused)
            : MetricSample.limit(name, of: total, current: count)
                + [MetricSample.refusals(name, reason: Refusal.total.rawValue, refused[.total] ?? 0)]
        return bounds + [
            MetricSample(
                "tessera_limited_idle", "Those of the present use of a limit that a newcomer may displace.", .gauge,
                Double(idleCount), labels: ["name": name]),
            MetricSample(
                "tessera_limit_displaced_total", "Idle holders that lost their places to newcomers at a full limit.",
                .counter, Double(displaced), labels: ["name": name]),
        ]
    }
}
