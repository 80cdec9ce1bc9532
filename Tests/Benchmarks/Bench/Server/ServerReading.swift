/// The server's values in /proc and in its own metrics at one time.
struct ServerReading: Sendable {
    /// In megabytes of 2^20 bytes: resident memory, proportional set size, and anonymous memory.
    var resident: Double
    var proportional: Double
    var anonymous: Double
    var descriptors: Int
    var threads: Int
    /// The processor time so far, in seconds.
    var processorTime: Double
    var metrics: ServerMetrics

    init(_ process: ProcessStatistics, metrics: ServerMetrics) {
        (resident, proportional, anonymous) = (process.memory, process.proportionalMemory, process.anonymousMemory)
        (descriptors, threads) = (process.descriptors, process.threadCount)
        processorTime = process.time
        self.metrics = metrics
    }
}
