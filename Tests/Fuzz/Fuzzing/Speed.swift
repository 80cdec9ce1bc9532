/// The factor by which this process is slower than an optimised build on the machine where the limits were measured:
/// unoptimised code, sanitizers and coverage counters cost a factor of 2 to 50, which must neither hide nor cause a
/// finding.
enum Speed {
    /// At least 1.
    static let slowness: Double = {
        let fastest = (0..<5).map { _ in measure() }.min() ?? nominal
        return max(1, fastest / nominal)
    }()

    /// The time of `reference` on that machine.
    private static let nominal = Duration.microseconds(620)

    private static func measure() -> Duration {
        let begin = Work.processorTime
        let sum = reference()
        let used = Work.processorTime - begin
        // The sum is used, so that the compiler does not remove the work.
        return sum == 0 ? used + .seconds(1) : used
    }

    /// Work similar to a parser's: single bytes, small arrays, text, a table.
    static func reference() -> UInt64 {
        var sum: UInt64 = 1
        var table: [UInt32: [UInt8]] = [:]
        for round in 0..<600 as Range<UInt32> {
            var bytes: [UInt8] = []
            for index in 0..<200 as Range<UInt32> { bytes.append(UInt8(truncatingIfNeeded: index &* 31 &+ round)) }
            for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
            table[round &* 7919, default: []] += bytes.prefix(16)
            let words = "a=rtpmap:\(round) opus/48000/2".split(separator: " ")
            sum &+= UInt64(words.count) &+ UInt64(table.count)
        }
        return sum
    }
}
