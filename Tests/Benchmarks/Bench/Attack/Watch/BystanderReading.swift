/// The reports of the bystanders' process to the benchmark, one JSON object per line.
struct BystanderReading: Codable, Sendable {
    /// Both are in the call; with the server's addresses for their media.
    struct Ready: Codable, Sendable {
        var addresses: [String]
        var fault: String?
    }

    /// The time until a newcomer received video and audio, in milliseconds; or the reason of the failure.
    struct Newcomer: Codable, Sendable {
        var milliseconds: Double
        var fault: String?
    }

    /// The longest gaps of either caller since the mark, in milliseconds.
    var audioGap: Double
    var pictureGap: Double
    var packetsLost: Int
    /// The number of requests for `/healthz`, and of those without a 200 within a second.
    var checks: Int
    var failedChecks: Int
    /// The slowest response in milliseconds.
    var slowestCheck: Double
    /// The loop's longest turn of the last 15 s in milliseconds, as elapsed time and as processor time; nil where the
    /// server does not report it.
    var loopTurn: Double?
    var loopTurnProcessor: Double?
    /// Why the call ended; nil while it goes on.
    var end: String?
}
