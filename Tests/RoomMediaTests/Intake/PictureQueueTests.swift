import Basics
import Testing

@testable import RoomMedia

@Suite("PictureQueue")
struct PictureQueueTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
    private func queue(_ captures: [Int64], arrivalAfter: Int64 = 20) -> PictureQueue<Int64> {
        var queue = PictureQueue<Int64>()
        for time in captures {
            queue.insert(Timed(content: time, captureTime: at(time), arrival: at(time + arrivalAfter)))
        }
        return queue
    }

    @Test("fewer large pictures wait")
    func large() {
        func waiting(_ width: Int, _ height: Int) -> Int {
            var queue = PictureQueue<Int>()
            for number in 0..<40 {
                queue.insert(Timed(content: number, captureTime: at(0), arrival: at(0)), bytes: width * height * 3 / 2)
            }
            return 40 - queue.skipped
        }
        #expect(waiting(640, 360) == 16 && waiting(1920, 1088) == 16)
        #expect(waiting(3840, 2160) == 4 && waiting(4096, 4096) == 2 && waiting(16_384, 16_384) == 2)
    }

    @Test("a picture is shown 38 ms before the audio of its moment is played, at the earliest")
    func due() {
        var queue = queue([0, 33, 66, 99])
        queue.advance(to: at(41), audioDelay: .milliseconds(80))
        #expect(queue.current == nil)
        queue.advance(to: at(42), audioDelay: .milliseconds(80))
        #expect(queue.current?.content == 0)
        queue.advance(to: at(120), audioDelay: .milliseconds(80))
        #expect(queue.current?.content == 66)
        #expect(queue.skipped == 1)
        #expect(queue.generation == 2)
    }

    @Test("without audio the newest picture is shown at once")
    func silent() {
        var queue = queue([0, 33, 66])
        queue.advance(to: at(86), audioDelay: nil)
        #expect(queue.current?.content == 66)
    }

    @Test("a sender's wrong clock holds no picture for ever")
    func nonsense() {
        var queue = queue([0])
        queue.advance(to: at(290), audioDelay: .seconds(3600))
        #expect(queue.current == nil)
        queue.advance(to: at(300), audioDelay: .seconds(3600))
        #expect(queue.current?.content == 0)
    }

    @Test("a full queue drops the oldest picture, and the current one stays")
    func bounded() {
        var queue = queue(Array(0..<40))
        #expect(queue.skipped == 40 - PictureQueue<Int64>.limit)
        queue.advance(to: at(1000), audioDelay: nil)
        #expect(queue.current?.content == 39)
        queue.advance(to: at(9000), audioDelay: nil)
        #expect(queue.current?.content == 39)
        #expect(queue.generation == 1)
    }
}

@Suite("Tile state")
struct TileStateTests {
    @Test("2 s without frames freeze a tile, 5 s bring the avatar")
    func ages() {
        func state(_ age: Duration?, presenting: Bool = false, on: Bool = true) -> String {
            "\(MixView.state(age: age, hasPicture: age != nil, sendsVideo: on, isPresenting: presenting))"
        }
        #expect(state(nil) == "avatar")
        #expect(state(.milliseconds(1999)) == "live")
        #expect(state(.seconds(2)) == "frozen")
        #expect(state(.seconds(5)) == "avatar")
        #expect(state(.seconds(60), presenting: true) == "live")
        #expect(state(.zero, on: false) == "avatar")
    }
}
