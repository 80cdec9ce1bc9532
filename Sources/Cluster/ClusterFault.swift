/// A setting of `cluster` that the system refuses at the start.
public struct ClusterFault: Error, Hashable, Sendable {
    /// The configuration key.
    public var key: String
    public var value: String
    /// What is wrong, and what to change.
    public var what: String

    public init(key: String, value: String, what: String) {
        self.key = key
        self.value = value
        self.what = what
    }
}
