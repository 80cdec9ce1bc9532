import Testing

@testable import Recording

/// Times of entries, as programs and people read them.
@Suite struct WholeMillisecondsTests {
    @Test func `times of clocks that count otherwise are whole milliseconds`() {
        #expect(Duration.nanoseconds(53_524_999_999).roundedSeconds == 53.525)
        // Frames at 90 kHz and samples at 48 kHz.
        #expect((Double(4_817_249) / 90_000).toMilliseconds == 53.525)
        #expect((Double(2_569_199) / 48_000).toMilliseconds == 53.525)
        #expect(Duration.seconds(7).roundedSeconds == 7 && (-0.0004).toMilliseconds == 0)
    }
}
