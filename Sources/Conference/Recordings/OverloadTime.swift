import Basics

/// How long the server was overloaded while a recording took media. A value.
struct OverloadTime {
    private(set) var total = Duration.zero
    private var since: Instant?

    /// Notes what is so at `now`, and has been since the last call. Returns whether a stretch began or ended.
    mutating func note(_ isOverloaded: Bool, isRecording: Bool, at now: Instant) -> Bool {
        let was = since
        since = isOverloaded && isRecording ? now : nil
        if let was { total += now - was }
        return (was == nil) != (since == nil)
    }
}
