/// A setting of `cluster` that the system refuses at the start.
package struct ClusterFault: Error, Hashable, Sendable {
    /// The configuration key.
    package var key: String
    package var value: String
    /// What is wrong, and what to change.
    package var what: String

    package init(key: String, value: String, what: String) {
        self.key = key
        self.value = value
        self.what = what
    }
}
