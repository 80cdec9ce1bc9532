import Basics
import Testing

@testable import RoomMedia

@Suite("AudioDelay")
struct AudioDelayTests {
    /// 30 pictures a second, each ready the given number of milliseconds after its capture.
    private func delay(_ milliseconds: [Int64], into audio: AudioDelay = AudioDelay(), from start: Int64 = 0)
        -> Duration?
    {
        var now = Instant.zero
        for (index, late) in milliseconds.enumerated() {
            let capture = Instant(nanoseconds: (start + Int64(index)) * 33_333_333)
            now = capture + .milliseconds(late)
            audio.recordPicture(of: capture, arrival: now, isRepaired: false, couldBeShownAt: now)
        }
        return audio.pictureDelay(at: now)
    }

    @Test("a handful of pictures is enough to measure the delay")
    func quick() {
        #expect(delay([60, 60, 60]) == .zero)
        #expect(delay([60, 62, 61, 60]) == .milliseconds(61))
    }

    @Test("pictures delayed by a keyframe count only until as many have followed")
    func keyframe() {
        #expect(delay([200, 170, 140, 110, 40, 40, 40, 40, 40]) == .milliseconds(40))
    }

    @Test("a stall of a quarter of a second does not delay later pictures")
    func stall() {
        #expect(delay(Array(repeating: 20, count: 30) + [250, 217, 183, 150, 117, 83, 50, 20]) == .milliseconds(20))
    }

    @Test("the delay follows pictures that stay late within a second")
    func late() {
        #expect(delay(Array(repeating: 20, count: 60) + Array(repeating: 90, count: 20)) == .milliseconds(90))
    }

    @Test("after a pause of half a second the measurement starts again")
    func pause() {
        let audio = AudioDelay()
        _ = delay(Array(repeating: 20, count: 60), into: audio)
        #expect(delay([80, 80, 80, 80], into: audio, from: 90) == .milliseconds(80))
    }
}
