/// Finds flashes in the brightness and beeps in the loudness: intervals above a threshold of about their length.
struct PulseDetector {
    let threshold: Double
    /// In seconds.
    let lengths: ClosedRange<Double>
    private var start: Double?

    init(threshold: Double, lengths: ClosedRange<Double>) {
        self.threshold = threshold
        self.lengths = lengths
    }

    /// Takes the next value at a time in seconds. Returns the middle of the pulse that ended with it.
    mutating func note(_ value: Double, at time: Double) -> Double? {
        guard value <= threshold else {
            start = start ?? time
            return nil
        }
        defer { start = nil }
        guard let start, lengths.contains(time - start) else { return nil }
        return (start + time) / 2
    }
}

/// The loudness of each millisecond of audio, smoothed over five.
struct Envelope {
    private static let width = 5
    private static let samplesPerStep = 48
    private var recent: [Double] = []

    /// Calls `body` with the loudness of each step (root mean square, 1 is full scale) and the time of its middle, in
    /// seconds.
    ///
    /// - Parameter start: the time of the first sample in ticks of 48 kHz.
    mutating func take(_ samples: [Float], start: Int64, body: (Double, Double) -> Void) {
        for offset in stride(from: 0, through: samples.count - Self.samplesPerStep, by: Self.samplesPerStep) {
            let power =
                samples[offset..<offset + Self.samplesPerStep].reduce(0.0) { $0 + Double($1 * $1) }
                / Double(Self.samplesPerStep)
            recent.append(power.squareRoot())
            if recent.count > Self.width { recent.removeFirst() }
            let middle = Double(start + Int64(offset)) / 48_000 - Double(Self.width / 2) * 0.001 + 0.0005
            body(recent.reduce(0, +) / Double(recent.count), middle)
        }
    }
}

/// Matches flashes and beeps. They come in any order: the audio is some tens of milliseconds ahead.
struct LipPairing {
    /// Flash and beep of one event are closer than this; the next event is a second later.
    private static let reach = 0.4
    private static let memory = 8

    /// Beep − flash of each pair in seconds; positive where the audio is late.
    private(set) var offsets: [Double] = []
    private(set) var flashes = 0
    private(set) var beeps = 0
    private var waitingFlashes: [Double] = []
    private var waitingBeeps: [Double] = []

    mutating func flash(at time: Double) {
        flashes += 1
        Self.pair(time, with: &waitingBeeps, or: &waitingFlashes) { offsets.append($0 - time) }
    }

    mutating func beep(at time: Double) {
        beeps += 1
        Self.pair(time, with: &waitingFlashes, or: &waitingBeeps) { offsets.append(time - $0) }
    }

    private static func pair(
        _ time: Double, with others: inout [Double], or waiting: inout [Double], _ found: (Double) -> Void
    ) {
        if let index = others.firstIndex(where: { abs($0 - time) < reach }) {
            found(others.remove(at: index))
            return
        }
        waiting.append(time)
        if waiting.count > memory { waiting.removeFirst() }
    }

    /// Returns the offsets since the last call; events without their counterpart are kept.
    mutating func take() -> (offsets: [Double], flashes: Int, beeps: Int) {
        defer { (offsets, flashes, beeps) = ([], 0, 0) }
        return (offsets, flashes, beeps)
    }
}
