import Basics
import Codecs
import Streaming
import Testing
import Threads

@testable import Inputs

@Suite struct InputCodecsTests {
    private func open(_ name: String) throws -> MediaDemuxer {
        let file = try FileSource(name, below: Media.folder)
        return try MediaDemuxer(
            .bytes(file, name: name), formats: InputOpener.formats, maxPixels: 1920 * 1088,
            interrupt: ReadInterrupt { MonotonicClock.now() })
    }

    @Test func `there is a file of each kind`() {
        #expect(Media.taken.count == 20 && Media.refused.count == 11, "\(Media.names)")
    }

    @Test(arguments: Media.taken)
    func `a file of a listed codec is decoded`(name: String) throws {
        let demuxer = try open(name)
        var (pictures, samples): (Int, [Float]) = (0, [])
        while let packet = try demuxer.next() {
            switch packet.kind {
            case .video: try demuxer.video?.decode(packet) { _, _ in pictures += 1 }
            case .audio: _ = try demuxer.audio?.decode(packet, into: &samples)
            }
        }
        try demuxer.video?.decode(nil) { _, _ in pictures += 1 }
        if demuxer.audio != nil { _ = try demuxer.audio?.decode(nil, into: &samples) }
        #expect(demuxer.video == nil || pictures >= 2, "\(pictures)")
        #expect(demuxer.audio == nil || samples.count >= 3000, "\(samples.count)")
    }

    @Test(arguments: Media.refused)
    func `a file of another codec is refused with its name and the list`(name: String) throws {
        do {
            _ = try open(name)
            Issue.record("it was opened")
        } catch let error as DemuxError {
            guard case .noMedia(let reason) = error else { return #expect(error == .noMedia("")) }
            #expect(reason.contains(Media.codec(of: name)), "\(reason)")
            #expect(reason.contains("H.264, HEVC") || reason.contains("AAC, MP3"), "\(reason)")
        }
    }
}
