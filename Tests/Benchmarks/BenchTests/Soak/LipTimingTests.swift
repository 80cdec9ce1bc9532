import Foundation
import Testing

@testable import Bench

@Suite("Lip sync of the soak test")
struct LipTimingTests {
    /// Pictures of 30 frames a second with a flash of three at each whole second.
    private func flashes(_ seconds: Int, late: Double) -> [Double] {
        var detector = PulseDetector(threshold: 128, lengths: 0.03...0.25)
        return (0..<seconds * 30).compactMap { detector.note($0 % 30 < 3 ? 220 : 40, at: Double($0) / 30 + late) }
    }

    /// Audio in packets of 20 ms with a beep of 100 ms at each whole second.
    private func beeps(_ seconds: Int, late: Int64) -> [Double] {
        var detector = PulseDetector(threshold: 0.05, lengths: 0.05...0.2)
        var envelope = Envelope()
        var found: [Double] = []
        for packet in 0..<seconds * 50 {
            let samples = (0..<960).map { index -> Float in
                let sample = packet * 960 + index
                return sample % 48_000 < 4800 ? 0.25 * Float(sin(2 * .pi * 1000 * Double(sample) / 48_000)) : 0
            }
            envelope.take(samples, start: Int64(packet * 960) + late) { loudness, time in
                if let middle = detector.note(loudness, at: time) { found.append(middle) }
            }
        }
        return found
    }

    @Test("a flash and a beep at the same time have no offset, to a few milliseconds")
    func together() throws {
        var pairing = LipPairing()
        for flash in flashes(5, late: 0) { pairing.flash(at: flash) }
        for beep in beeps(5, late: 0) { pairing.beep(at: beep) }
        let found = pairing.take()
        #expect(found.offsets.count == 5)
        #expect(found.flashes == 5 && found.beeps == 5)
        #expect(found.offsets.allSatisfy { abs($0) < 0.004 }, "\(found.offsets)")
    }

    @Test("late audio has a positive offset, early audio a negative one", arguments: [-0.1, -0.04, 0.02, 0.06, 0.3])
    func offset(late: Double) {
        var pairing = LipPairing()
        // In the order of arrival.
        let events = flashes(6, late: 0).map { ($0, true) } + beeps(6, late: Int64(late * 48_000)).map { ($0, false) }
        for (time, isFlash) in events.sorted(by: { $0.0 < $1.0 }) {
            if isFlash { pairing.flash(at: time) } else { pairing.beep(at: time) }
        }
        let offsets = pairing.take().offsets
        #expect(offsets.count == 6)
        #expect(offsets.allSatisfy { abs($0 - late) < 0.004 }, "\(offsets)")
    }

    @Test("a flash without a beep gives no offset, and the next pair does")
    func missing() {
        var pairing = LipPairing()
        for time in [1.05, 2.05, 3.05] { pairing.flash(at: time) }
        for time in [1.05, 3.05] { pairing.beep(at: time) }
        let found = pairing.take()
        #expect(found.offsets.map { ($0 * 1000).rounded() } == [0, 0])
        #expect(pairing.take().offsets.isEmpty)
    }

    @Test("pulses that are too short or too long are no flashes")
    func lengths() {
        var detector = PulseDetector(threshold: 128, lengths: 0.03...0.25)
        let values = [40.0, 220, 40, 220, 220, 220, 220, 220, 220, 220, 220, 220, 40]
        #expect(
            values.enumerated().compactMap { detector.note($0.element, at: Double($0.offset) / 30 * 0.9) } == [0.045])
    }
}
