/// What the bystanders' process tells the bench, one JSON object on a line.
struct BystanderReading: Codable, Sendable {
    /// Both are in the call; where their media comes to.
    struct Ready: Codable, Sendable {
        var addresses: [String]
        var fault: String?
    }

    /// How long it took somebody new to see a picture and hear sound, in milliseconds; or why not.
    struct Newcomer: Codable, Sendable {
        var milliseconds: Double
        var fault: String?
    }

    /// The longest gaps of either caller since the mark, in milliseconds.
    var audioGap: Double
    var pictureGap: Double
    var packetsLost: Int
    /// Asked for `/healthz` so often, and so often without a 200 within a second.
    var checks: Int
    var failedChecks: Int
    /// The slowest answer in milliseconds.
    var slowestCheck: Double
    /// The loop's longest turn of the last 15 s in milliseconds, by the clock and in processor time; nil where the
    /// server does not tell.
    var loopTurn: Double?
    var loopTurnProcessor: Double?
    /// Why the call is over; nil while it goes on.
    var end: String?
}
