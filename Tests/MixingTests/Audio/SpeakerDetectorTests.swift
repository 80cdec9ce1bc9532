import Basics
import Codecs
import Testing

@testable import Mixing

@Suite("Speaker detector") struct SpeakerDetectorTests {
    /// Feeds levels for `seconds`, 20 ms at a time.
    private func run(
        _ detector: inout SpeakerDetector, _ time: inout Instant, _ seconds: Double, _ levels: (Int) -> [String: Double]
    ) {
        for tick in 0..<Int(seconds * 50) {
            detector.update(levels: levels(tick), at: time)
            time += .milliseconds(20)
        }
    }

    /// Syllables: 160 ms loud, 60 ms quiet.
    private func speech(_ tick: Int, _ level: Double = -22) -> Double { tick % 11 < 8 ? level : -70 }

    @Test("A speaking participant becomes active within half a second, and stays active when silent") func attack() {
        var detector = SpeakerDetector()
        var time = Instant.zero
        run(&detector, &time, 1) { _ in ["a": -80, "b": -80] }
        #expect(detector.active == nil)
        run(&detector, &time, 0.5) { ["a": speech($0), "b": -80] }
        #expect(detector.active == "a")
        #expect(detector.speaking == ["a"])
        run(&detector, &time, 3) { _ in ["a": -80, "b": -80] }
        #expect(detector.active == "a")
        #expect(detector.speaking.isEmpty)
    }

    @Test("A click never counts as speech, and a fan only for a while") func noise() {
        var detector = SpeakerDetector()
        var time = Instant.zero
        run(&detector, &time, 3) { ["a": $0 % 50 < 4 ? -10 : -80, "b": -80] }
        #expect(detector.active == nil)
        run(&detector, &time, 20) { _ in ["a": -80, "b": -40] }
        #expect(detector.speaking.isEmpty)
    }

    @Test("Two participants who talk at once do not alternate; after a pause the other becomes active") func hold() {
        var detector = SpeakerDetector()
        var time = Instant.zero
        run(&detector, &time, 2) { ["a": speech($0), "b": -80] }
        run(&detector, &time, 4) { ["a": speech($0), "b": speech($0 + 5, -20)] }
        #expect(detector.active == "a")
        run(&detector, &time, 2) { ["a": -80, "b": speech($0)] }
        #expect(detector.active == "b")
        #expect(detector.ranks == ["b", "a"])
        detector.update(levels: ["a": -80], at: time)
        #expect(detector.active == nil)
    }
}
