/// One sample of the metrics page.
public struct MetricSample: Hashable, Sendable {
    public enum Kind: String, Sendable { case counter, gauge, histogram, summary }
    /// The name in Prometheus's convention, with the unit at the end: `tessera_encode_seconds_total`.
    public var name: String
    /// The name of the metric in Prometheus: for the samples of a histogram or a summary `name` without `_bucket`,
    /// `_sum` or `_count`, otherwise `name`.
    public var family: String
    public var help: String
    public var kind: Kind
    public var labels: [String: String]
    public var value: Double

    public init(_ name: String, _ help: String, _ kind: Kind, _ value: Double, labels: [String: String] = [:]) {
        self.name = name
        family = name
        self.help = help
        self.kind = kind
        self.labels = labels
        self.value = value
    }
}
