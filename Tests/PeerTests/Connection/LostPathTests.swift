import Basics
import Simulation
import Testing

@testable import Peer

@Suite("A peer whose path is gone")
struct LostPathTests {
    /// The path of a peer over TCP ends with its connection, and its seat is kept for some seconds.
    @Test("Frames that cannot leave do not wake the loop")
    func rests() throws {
        let media = CallMedia()
        let call = try SimulatedCall.connected(seed: 5, media: media, for: .seconds(2))
        let flow = try #require(call.server.statistics(at: call.now).flow)
        call.server.removeFlow(flow, at: call.now)
        var now = call.now
        let end = now + .seconds(5)
        var nextFrame = now
        var wakes = 0
        while now < end {
            if now >= nextFrame {
                call.server.send(media.frame(isKeyframe: false, at: now), at: now)
                nextFrame += .milliseconds(40)
            }
            call.server.advance(to: now)
            while call.server.nextEvent() != nil {}
            call.server.flush { _, _ in }
            wakes += 1
            // A loop sleeps until the deadline; one that has passed is due at once.
            now = max(min(call.server.nextDeadline(after: now) ?? nextFrame, nextFrame), now + .microseconds(50))
        }
        // 125 frames in five seconds, and a handful of reports and timers.
        #expect(wakes < 400, "woken \(wakes) times")
    }
}
