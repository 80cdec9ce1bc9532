import Basics

/// Counts how often and how long a picture froze, as webrtc-stats defines `freezeCount`: a gap between frames longer
/// than three times the average, and at least 150 ms longer than it.
struct FreezeCounter: Sendable {
    private(set) var count = 0
    private(set) var total = Duration.zero
    private var last: Instant?
    private var average = Duration.zero

    mutating func frame(at now: Instant) {
        defer { last = now }
        guard let last else { return }
        let gap = now - last
        guard average > .zero else {
            average = gap
            return
        }
        if gap > max(average * 3, average + .milliseconds(150)) {
            count += 1
            total += gap
        } else {
            average = (average * 15 + gap) / 16
        }
    }
}
