/// What the operating system and the server's own metrics say about it at one moment.
struct ServerReading: Sendable {
    /// In megabytes of 2^20 bytes: resident, its proportional share, and what no file backs.
    var resident: Double
    var proportional: Double
    var anonymous: Double
    var descriptors: Int
    var threads: Int
    /// Processor time so far, in seconds.
    var processorTime: Double
    var metrics: ServerMetrics

    init(_ process: ProcessStatistics, metrics: ServerMetrics) {
        (resident, proportional, anonymous) = (process.memory, process.proportionalMemory, process.anonymousMemory)
        (descriptors, threads) = (process.descriptors, process.threadCount)
        processorTime = process.time
        self.metrics = metrics
    }
}
