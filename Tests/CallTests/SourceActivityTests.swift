import Basics
import Testing

@testable import Call

@Suite("What a source gives")
struct SourceActivityTests {
    private typealias Sent = SourceActivity.Sent
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("a source that gives nothing for three seconds sends nothing, until it gives something")
    func follows() {
        let source = SourceActivity()
        #expect(source.sent(at: at(0)) == Sent(audio: false, video: false))
        source.start(hasVideo: true, at: at(10_000))
        #expect(source.sent(at: at(12_900)) == Sent(audio: true, video: true))
        source.gaveVideo(at: at(12_900))
        #expect(source.sent(at: at(13_100)) == Sent(audio: false, video: true))
        source.gaveAudio(at: at(20_000))
        #expect(source.sent(at: at(20_000)) == Sent(audio: true, video: false))
    }

    @Test("a source without video never sends it")
    func audioAlone() {
        let source = SourceActivity()
        source.start(hasVideo: false, at: at(10_000))
        #expect(source.sent(at: at(10_001)) == Sent(audio: true, video: false))
    }
}
