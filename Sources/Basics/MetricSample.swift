/// One figure for the metrics page.
public struct MetricSample: Hashable, Sendable {
    public enum Kind: String, Sendable { case counter, gauge, histogram }
    /// As Prometheus writes names, with the unit at the end: `tessera_encode_seconds_total`.
    public var name: String
    /// The name that Prometheus knows the metric by: for the samples of a histogram without `_bucket`, `_sum` or
    /// `_count`, else `name`.
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
